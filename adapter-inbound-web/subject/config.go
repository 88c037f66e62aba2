package subject

import (
	"fmt"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// ClientIP is the source that takes the client's network address.
const ClientIP = "client-ip"

const headerSource = "header:"

// Missing says what becomes of a request that lacks the header which
// identifies its subject.
type Missing string

const (
	// Reject answers [ErrMissing]. It is the default.
	Reject Missing = "reject"
	// UseClientIP takes the client's network address instead.
	UseClientIP Missing = "client-ip"
)

// Config says where the subject comes from.
type Config struct {
	// Source is [ClientIP], which is the default, or "header:" and the name of
	// a request header. X-Request-Id is refused: it is logged and repeated in
	// answers, as subjects must not be.
	Source string
	// Missing is [Reject], which is the default, or [UseClientIP]. It does not
	// matter when Source is ClientIP.
	Missing Missing
	// TrustedProxies are the networks whose word about a client counts, in the
	// header of Forwarded and in that of Source. With none, the former is
	// ignored, and the latter is believed from everybody, so clients choose their
	// subject; see [Extractor.ChosenByClients].
	TrustedProxies []netip.Prefix
	// Forwarded is [XForwardedFor], which is the default, or [StandardForwarded].
	Forwarded Forwarded
	// Addressing says how wide an IPv6 prefix counts as one client.
	Addressing pseudonym.Addressing
}

// unreadable are headers that net/http takes out of Request.Header, so that a
// subject could never be found in them.
var unreadable = [...]string{"Host", "Trailer", "Transfer-Encoding"}

// header is the canonical name of the header that Source names; empty when it
// names none, or none that can be read.
func (c Config) header() (string, error) {
	if c.Source == "" || c.Source == ClientIP {
		return "", nil
	}
	name, found := strings.CutPrefix(c.Source, headerSource)
	if !found {
		return "", fmt.Errorf("is %q, must be %s or %s<Name>", c.Source, ClientIP, headerSource)
	}
	if !httpguts.ValidHeaderFieldName(name) {
		return "", fmt.Errorf("names %q, which cannot be the name of a header", name)
	}
	name = textproto.CanonicalMIMEHeaderKey(name)
	if name == answer.RequestIDField {
		return "", fmt.Errorf("names %s, which is logged and repeated in answers and so must not identify a client", name)
	}
	if slices.Contains(unreadable[:], name) {
		return "", fmt.Errorf("names %s, which is no header that identifies a client", name)
	}
	return name, nil
}

// New returns an extractor, or the [ratelimit.Faults] of config: "source",
// "missing", "forwarded", "ipv6-prefix" and "trusted-proxies[i]".
func New(config Config) (*Extractor, error) {
	var faults ratelimit.Faults
	header, err := config.header()
	if err != nil {
		faults.Add("source", "%v", err)
	}
	switch config.Missing {
	case "", Reject, UseClientIP:
	default:
		faults.Add("missing", "is %q, must be %s or %s", string(config.Missing), Reject, UseClientIP)
	}
	hops, err := config.Forwarded.chain()
	if err != nil {
		faults.Add("forwarded", "%v", err)
	}
	if err := config.Addressing.Check(); err != nil {
		faults.Add("ipv6-prefix", "%v", err)
	}
	proxies := make(trust, 0, len(config.TrustedProxies))
	for i, given := range config.TrustedProxies {
		prefix, err := canonicalPrefix(given)
		if err != nil {
			addTrustFault(&faults, i, err)
			continue
		}
		proxies = append(proxies, prefix)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	e := &Extractor{proxies: proxies, hops: hops, addressing: config.Addressing, header: header}
	if header != "" && config.Missing != UseClientIP {
		e.reject = &MissingError{Header: header}
	}
	return e, nil
}
