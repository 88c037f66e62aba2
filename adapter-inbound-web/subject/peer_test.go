package subject_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"example.com/weir/adapter-inbound-web/subject"
)

// Ensure whose questions are worth an answer.
func TestExtractorTrustsPeer(t *testing.T) {
	extractor, err := subject.New(subject.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"10.1.2.3:1":             true,
		"[::ffff:10.1.2.3]:1":    true,
		"127.0.0.1:1":            true,
		"127.200.0.1:1":          true,
		"[::1]:1":                true,
		"[::ffff:127.0.0.1]:1":   true,
		"11.0.0.1:1":             false,
		"203.0.113.9:1":          false,
		"[2001:db8::1]:1":        false,
		"[fe80::1%lo]:1":         false,
		"0.0.0.0:1":              false,
		"[::]:1":                 false,
		"@":                      false,
		"":                       false,
		"localhost:1":            false,
		"127.0.0.1, 203.0.113.9": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = address
		if got := extractor.TrustsPeer(r); got != want {
			t.Errorf("%q: %t, want %t", address, got, want)
		}
	}
}

// Ensure that of an extractor that trusts its peers only the first hop is
// trusted by nothing else than being the peer, and that the one it was made from
// stays as it was.
func TestExtractorTrustingPeers(t *testing.T) {
	tests := []struct {
		name, peer string
		lines      []string
		want       string // the same as this subject's peer
		before     string // the same, of the extractor it was made from
	}{
		{"one hop", "192.0.2.1:1", []string{"203.0.113.7"}, "203.0.113.7:1", "192.0.2.1:1"},
		{"two hops", "192.0.2.1:1", []string{"198.51.100.1, 203.0.113.7"}, "203.0.113.7:1", "192.0.2.1:1"},
		{"two lines", "192.0.2.1:1", []string{"198.51.100.1", "203.0.113.7"}, "203.0.113.7:1", "192.0.2.1:1"},
		{"the peer's address again", "192.0.2.1:1", []string{"198.51.100.1, 192.0.2.1"}, "192.0.2.1:1", "192.0.2.1:1"},
		{"behind a trusted proxy", "192.0.2.1:1", []string{"198.51.100.1, 10.1.1.1"}, "198.51.100.1:1", "192.0.2.1:1"},
		{"a trusted peer", "10.1.1.1:1", []string{"203.0.113.7"}, "203.0.113.7:1", "203.0.113.7:1"},
		{"garbage", "192.0.2.1:1", []string{"203.0.113.7, x"}, "192.0.2.1:1", "192.0.2.1:1"},
		{"no hops", "192.0.2.1:1", nil, "192.0.2.1:1", "192.0.2.1:1"},
	}
	extractor, err := subject.New(subject.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	trusting := extractor.TrustingPeers()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr, r.Header["X-Forwarded-For"] = test.peer, test.lines
			for e, want := range map[*subject.Extractor]string{trusting: test.want, extractor: test.before} {
				same := httptest.NewRequest(http.MethodGet, "/", nil)
				same.RemoteAddr = want
				got, err := e.Extract(r)
				if err != nil {
					t.Fatal(err)
				}
				if expected, err := new(subject.Extractor).Extract(same); err != nil || got != expected {
					t.Errorf("got another subject than that of %s, %v", want, err)
				}
			}
		})
	}
}

// Ensure that a header that identifies the subject is believed from a peer that
// is trusted as such.
func TestExtractorTrustingPeersBelievesHeader(t *testing.T) {
	extractor, err := subject.New(subject.Config{
		Source:         "header:X-Api-Key",
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = "127.0.0.1:1"
	r.Header.Set("X-Api-Key", "k")
	if _, err := extractor.Extract(r); err == nil {
		t.Error("the header is believed from a peer that is not trusted")
	}
	if _, err := extractor.TrustingPeers().Extract(r); err != nil {
		t.Error(err)
	}
}
