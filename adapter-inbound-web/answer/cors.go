package answer

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"example.com/weir/shared-contract/ratelimit"
)

// AnyOrigin stands for every origin in [NewCORS].
const AnyOrigin = "*"

// Header fields of CORS in the canonical form of net/http.
const (
	fieldOrigin        = "Origin"
	fieldVary          = "Vary"
	fieldAllowOrigin   = "Access-Control-Allow-Origin"
	fieldExposeHeaders = "Access-Control-Expose-Headers"
)

// CORS lets scripts of pages from other origins read what Weir itself answers,
// and the rate-limit header fields of what it lets pass. Without it a browser
// tells them no more of a denial than that the request failed. Whether they may
// read what lies behind Weir, and send preflights, is decided there. It is
// immutable. The nil *CORS adds nothing.
type CORS struct {
	any     bool
	origins map[string]bool
}

// NewCORS allows the pages of origins, each written as browsers send it, such as
// https://example.org or http://localhost:3000, or of [AnyOrigin] alone. The
// error is the [ratelimit.Faults] of all entries that are none, each with the
// field "allowed-origins[i]". No origins give nil.
func NewCORS(origins []string) (*CORS, error) {
	if len(origins) == 0 {
		return nil, nil
	}
	c := &CORS{origins: make(map[string]bool, len(origins))}
	var faults ratelimit.Faults
	for i, origin := range origins {
		if origin == AnyOrigin && len(origins) == 1 {
			return &CORS{any: true}, nil
		}
		if err := checkOrigin(origin); err != nil {
			faults.Add(fmt.Sprintf("allowed-origins[%d]", i), "%v", err)
			continue
		}
		c.origins[origin] = true
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// checkOrigin takes the one spelling that browsers send, so that origins can be
// compared as texts (RFC 6454, section 6.2).
func checkOrigin(origin string) error {
	if origin == AnyOrigin {
		return fmt.Errorf("is %q, which must stand alone", origin)
	}
	parsed, err := url.Parse(origin)
	if err != nil || parsed.Scheme == "" || parsed.Hostname() == "" || !isHost(parsed.Host) {
		return fmt.Errorf("is %q, must be an origin such as https://example.org", origin)
	}
	sent, err := serializeOrigin(parsed)
	if err != nil {
		return fmt.Errorf("is %q, must have a port from 1 to 65535 or none", origin)
	}
	if sent != origin {
		return fmt.Errorf("is %q, must be written as browsers send it, such as %s", origin, sent)
	}
	return nil
}

// isHost is false for wildcards, which would never match, and for names that
// browsers send in Punycode.
func isHost(host string) bool {
	return !strings.ContainsFunc(host, func(r rune) bool {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("-._:[]", r):
			return false
		default:
			return true
		}
	})
}

// serializeOrigin leaves out the port that goes with the scheme.
func serializeOrigin(origin *url.URL) (string, error) {
	sent := origin.Scheme + "://" + strings.ToLower(strings.TrimSuffix(origin.Host, ":"+origin.Port()))
	switch origin.Scheme + ":" + origin.Port() {
	case origin.Scheme + ":", "http:80", "https:443":
		return sent, nil
	}
	port, err := strconv.ParseUint(origin.Port(), 10, 16)
	if err != nil || port == 0 {
		return "", strconv.ErrRange
	}
	return sent + ":" + strconv.FormatUint(port, 10), nil
}

// allows returns the origin of r if its pages may read answers. A request has
// one; of two, neither counts.
func (c *CORS) allows(r *http.Request) (origin string, allowed bool) {
	if c == nil {
		return "", false
	}
	values := r.Header[fieldOrigin]
	if len(values) != 1 || values[0] == "" {
		return "", false
	}
	return values[0], c.any || c.origins[values[0]]
}

// own adds to the header of an answer of Weir's own what lets the page that sent
// r read it, and the exposed fields, which are a list.
func (c *CORS) own(header http.Header, r *http.Request, exposed string) {
	c.readable(header, r)
	c.passing(header, r, exposed)
}

// readable adds what lets the page that sent r read the answer.
func (c *CORS) readable(header http.Header, r *http.Request) {
	c.varies(header)
	if origin, allowed := c.allows(r); allowed {
		header.Set(fieldAllowOrigin, origin)
	}
}

// passing adds to the header of an answer that comes from behind Weir what lets
// the page read the exposed fields, if it may read the answer at all. It stands
// beside what is added later.
func (c *CORS) passing(header http.Header, r *http.Request, exposed string) {
	c.varies(header)
	if _, allowed := c.allows(r); allowed {
		header.Add(fieldExposeHeaders, exposed)
	}
}

// varies keeps caches from showing one page what was said to another. What is
// said to no page varies too: an allowed one would be told more.
func (c *CORS) varies(header http.Header) {
	if c != nil && !slices.Contains(header[fieldVary], fieldOrigin) {
		header.Add(fieldVary, fieldOrigin)
	}
}
