package subject_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// Ensure that a configuration that cannot work is refused, with all its faults
// and the names of their fields.
func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name   string
		config subject.Config
		want   []string // fields
	}{
		{"an unknown source", subject.Config{Source: "cookie:id"}, []string{"source"}},
		{"another case", subject.Config{Source: "Client-IP"}, []string{"source"}},
		{"a header without a name", subject.Config{Source: "header:"}, []string{"source"}},
		{"a header without a colon", subject.Config{Source: "header"}, []string{"source"}},
		{"a name with a space", subject.Config{Source: "header: X-Api-Key"}, []string{"source"}},
		{"a name with a line break", subject.Config{Source: "header:X\r\nY"}, []string{"source"}},
		{"a name with a colon", subject.Config{Source: "header:X-Api-Key:"}, []string{"source"}},
		{"a header that net/http hides", subject.Config{Source: "header:host"}, []string{"source"}},
		{"the header that is logged", subject.Config{Source: "header:x-request-id"}, []string{"source"}},
		{"an unknown answer to a missing header", subject.Config{Missing: "allow"}, []string{"missing"}},
		{"an unknown list of hops", subject.Config{Forwarded: "x-real-ip"}, []string{"forwarded"}},
		{"a list of hops in another case", subject.Config{Forwarded: "Forwarded"}, []string{"forwarded"}},
		{"an IPv6 prefix too wide", subject.Config{Addressing: pseudonym.Addressing{IPv6Bits: 31}}, []string{"ipv6-prefix"}},
		{"an IPv6 prefix too narrow", subject.Config{Addressing: pseudonym.Addressing{IPv6Bits: 129}}, []string{"ipv6-prefix"}},
		{"the zero prefix", subject.Config{TrustedProxies: []netip.Prefix{{}}}, []string{"trusted-proxies[0]"}},
		{"a prefix wider than IPv4", subject.Config{TrustedProxies: []netip.Prefix{
			netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::ffff:0:0/90"),
		}}, []string{"trusted-proxies[1]"}},
		{"all at once", subject.Config{
			Source: "x", Missing: "y", Forwarded: "z", TrustedProxies: []netip.Prefix{{}, {}}, Addressing: pseudonym.Addressing{IPv6Bits: -1},
		},
			[]string{"source", "missing", "forwarded", "ipv6-prefix", "trusted-proxies[0]", "trusted-proxies[1]"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			extractor, err := subject.New(test.config)
			if got := fields(err); !slices.Equal(got, test.want) || extractor != nil {
				t.Errorf("faults of %q, want %q: %v", got, test.want, err)
			}
		})
	}
}

// Ensure that the header of correlation IDs is refused with the reason.
func TestNewRefusesCorrelationIDs(t *testing.T) {
	_, err := subject.New(subject.Config{Source: "header:X-REQUEST-ID"})
	want := "source: names X-Request-Id, which is logged and repeated in answers and so must not identify a client"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Ensure that proxies are read as people write them.
func TestParseTrustedProxies(t *testing.T) {
	got, err := subject.ParseTrustedProxies([]string{
		"192.0.2.7", "10.1.2.3/8", " 2001:db8::7\t", "2001:db8::1/32", "::ffff:192.0.2.8", "::ffff:10.1.2.3/104", "0.0.0.0/0",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []netip.Prefix{
		netip.MustParsePrefix("192.0.2.7/32"),
		netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("2001:db8::7/128"),
		netip.MustParsePrefix("2001:db8::/32"),
		netip.MustParsePrefix("192.0.2.8/32"),
		netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("0.0.0.0/0"),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Ensure that each entry that is no proxy is named by its place and its text.
func TestParseTrustedProxiesRefuses(t *testing.T) {
	texts := []string{
		"10.0.0.0/8", "", "localhost", "10.0.0.0/33", "10.0.0.1:80", "10.0.0", "fe80::1%eth0", "fe80::%eth0/64", "::ffff:0:0/64", "10.0.0.0/08", "*",
	}
	prefixes, err := subject.ParseTrustedProxies(texts)
	if prefixes != nil {
		t.Errorf("got %v with an error", prefixes)
	}
	var faults ratelimit.Faults
	if !errors.As(err, &faults) || len(faults) != len(texts)-1 {
		t.Fatalf("got %d faults, want one for each but the first: %v", len(faults), err)
	}
	if first := faults[0]; first.Field != "trusted-proxies[1]" {
		t.Errorf("the first fault is of %s, want trusted-proxies[1]", first.Field)
	}
	if second := faults[1].Error(); second != `trusted-proxies[2]: is "localhost", must be an address or a CIDR prefix` {
		t.Errorf("the second fault reads %s", second)
	}
}

// Ensure that operators are warned exactly when clients can choose who they are.
func TestChosenByClients(t *testing.T) {
	tests := []struct {
		name   string
		config subject.Config
		want   bool
	}{
		{"addresses", subject.Config{}, false},
		{"addresses through proxies", subject.Config{TrustedProxies: proxies(t, "10.0.0.0/8", "fd00::/8")}, false},
		{"addresses, everybody trusted", subject.Config{TrustedProxies: proxies(t, "10.0.0.0/8", "::/0")}, true},
		{"a header from anybody", subject.Config{Source: "header:X-Api-Key"}, true},
		{"a header from proxies", subject.Config{Source: "header:X-Api-Key", TrustedProxies: proxies(t, "10.0.0.0/8")}, false},
		{"a header, everybody trusted", subject.Config{Source: "header:X-Api-Key", TrustedProxies: proxies(t, "0.0.0.0/0")}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := newExtractor(t, test.config).ChosenByClients(); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func fields(err error) []string {
	var faults ratelimit.Faults
	if !errors.As(err, &faults) {
		return nil
	}
	names := make([]string, len(faults))
	for i, fault := range faults {
		names[i] = fault.Field
		if strings.TrimSpace(fault.Problem) == "" {
			names[i] += " without a problem"
		}
	}
	return names
}
