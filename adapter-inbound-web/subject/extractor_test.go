package subject_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/shared-contract/pseudonym"
)

// request is what a connection from peer carries.
func request(peer string, header http.Header) *http.Request {
	return &http.Request{Method: http.MethodGet, RemoteAddr: peer, Header: header}
}

func newExtractor(t testing.TB, config subject.Config) *subject.Extractor {
	t.Helper()
	extractor, err := subject.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return extractor
}

func proxies(t testing.TB, texts ...string) []netip.Prefix {
	t.Helper()
	prefixes, err := subject.ParseTrustedProxies(texts)
	if err != nil {
		t.Fatal(err)
	}
	return prefixes
}

func ip(t testing.TB, text string) pseudonym.Subject {
	t.Helper()
	who, err := pseudonym.IP(netip.MustParseAddr(text))
	if err != nil {
		t.Fatal(err)
	}
	return who
}

// appended is the list of addresses that n hops wrote, the left-most being the
// first hop's.
func appended(n int, hop func(i int) string) string {
	hops := make([]string, n)
	for i := range hops {
		hops[i] = hop(i)
	}
	return strings.Join(hops, ", ")
}

// Ensure that the client's address is taken from X-Forwarded-For only as far as
// trusted proxies wrote it, whatever the client and others wrote.
func TestClientIP(t *testing.T) {
	const (
		client   = "203.0.113.9"
		outsider = "198.51.100.66" // connects directly, and is no proxy
		inner    = "10.0.0.1"      // the proxy that connects to us
		outer    = "10.0.0.2"      // the proxy in front of it
	)
	trusted := []string{"10.0.0.0/8", "2001:db8:ff::/48"}
	tests := []struct {
		name      string
		trusted   []string
		peer      string
		forwarded []string
		want      string // an address
	}{
		{"no proxies, no header", nil, client + ":5000", nil, client},
		{"no proxies: the header is ignored", nil, client + ":5000", []string{"192.0.2.1"}, client},
		{"no proxies: a header that names a private address is ignored", nil, client + ":5000", []string{"127.0.0.1"}, client},
		{"no proxies: the loopback is not trusted by itself", nil, "127.0.0.1:5000", []string{client}, "127.0.0.1"},
		{"untrusted peer: the header is ignored", trusted, outsider + ":5000", []string{client}, outsider},
		{"untrusted peer that names a trusted hop", trusted, outsider + ":5000", []string{client + ", " + inner}, outsider},
		{"untrusted IPv6 peer", trusted, "[2001:db8:1::5]:5000", []string{client}, "2001:db8:1::"},

		{"trusted peer without a header", trusted, inner + ":5000", nil, inner},
		{"trusted peer, one hop", trusted, inner + ":5000", []string{client}, client},
		{"two trusted hops", trusted, inner + ":5000", []string{client + ", " + outer}, client},
		{"the left-most address is the client's invention", trusted, inner + ":5000", []string{"192.0.2.1, " + client}, client},
		{"an invented trusted hop to the left of the client", trusted, inner + ":5000", []string{"192.0.2.1, " + outer + ", " + client}, client},
		{"an untrusted hop ends the walk", trusted, inner + ":5000", []string{"192.0.2.1, " + outsider + ", " + outer}, outsider},
		{"all hops trusted: the left-most", trusted, inner + ":5000", []string{"10.1.1.1, 10.2.2.2, " + outer}, "10.1.1.1"},
		{"everybody trusted: the left-most", []string{"0.0.0.0/0"}, inner + ":5000", []string{"192.0.2.1, " + client}, "192.0.2.1"},
		{"a single trusted address", []string{inner}, inner + ":5000", []string{client}, client},
		{"the neighbour of a single trusted address", []string{inner}, outer + ":5000", []string{client}, outer},
		{"a prefix that is written with host bits", []string{"10.0.0.77/8"}, inner + ":5000", []string{client}, client},

		{"two lines: the proxy's is the last", trusted, inner + ":5000", []string{"192.0.2.1", client}, client},
		{"two lines are one list", trusted, inner + ":5000", []string{"192.0.2.1, " + client, outer}, client},
		{"an empty first line is not reached", trusted, inner + ":5000", []string{"", client}, client},
		{"three lines, all trusted but the first", trusted, inner + ":5000", []string{client, "10.3.3.3", outer}, client},

		{"a hop with a port", trusted, inner + ":5000", []string{client + ":51000"}, client},
		{"a hop with another port", trusted, inner + ":5000", []string{client + ":51001"}, client},
		{"a trusted hop with a port", trusted, inner + ":5000", []string{client + ", " + outer + ":443"}, client},
		{"an IPv6 hop", trusted, inner + ":5000", []string{"2001:db8:1::5"}, "2001:db8:1::"},
		{"an IPv6 hop in brackets", trusted, inner + ":5000", []string{"[2001:db8:1::5]"}, "2001:db8:1::"},
		{"an IPv6 hop with a port", trusted, inner + ":5000", []string{"[2001:db8:1::5]:443"}, "2001:db8:1::"},
		{"an IPv6 hop with a zone", trusted, inner + ":5000", []string{"fe80::1%eth0"}, "fe80::1"},
		{"a trusted IPv6 hop with a zone", trusted, inner + ":5000", []string{client + ", 2001:db8:ff::1%eth0"}, client},
		{"an IPv4-mapped hop is the IPv4 address", trusted, inner + ":5000", []string{"::ffff:" + client}, client},
		{"an IPv4-mapped hop in hexadecimal", trusted, inner + ":5000", []string{"::ffff:cb00:7109"}, client},
		{"a trusted IPv4-mapped hop", trusted, inner + ":5000", []string{client + ", [::ffff:" + outer + "]:80"}, client},
		{"spaces and tabs", trusted, inner + ":5000", []string{"\t" + client + " ,\t " + outer + "  "}, client},
		{"no spaces", trusted, inner + ":5000", []string{"192.0.2.1," + client + "," + outer}, client},

		{"IPv6 peer", trusted, "[2001:db8:ff::1]:5000", []string{client}, client},
		{"IPv6 peer with a zone", []string{"fe80::/10"}, "[fe80::1%eth0]:5000", []string{client}, client},
		{"IPv4-mapped peer", trusted, "[::ffff:" + inner + "]:5000", []string{client}, client},
		{"IPv4-mapped trusted proxies", []string{"::ffff:10.0.0.0/104"}, inner + ":5000", []string{client}, client},
		{"peer without a port", trusted, inner, []string{client}, client},

		{"garbage: the last good address", trusted, inner + ":5000", []string{client + ", garbage"}, inner},
		{"garbage behind a good hop", trusted, inner + ":5000", []string{client + ", garbage, " + outer}, outer},
		{"an obfuscated hop", trusted, inner + ":5000", []string{client + ", _hidden"}, inner},
		{"an unknown hop", trusted, inner + ":5000", []string{client + ", unknown"}, inner},
		{"an empty hop", trusted, inner + ":5000", []string{client + ", "}, inner},
		{"an empty header", trusted, inner + ":5000", []string{""}, inner},
		{"an empty last line", trusted, inner + ":5000", []string{client, ""}, inner},
		{"leading zeros", trusted, inner + ":5000", []string{client + ", 010.000.000.002"}, inner},
		{"a short IPv4 address", trusted, inner + ":5000", []string{client + ", 10.1"}, inner},
		{"a prefix instead of an address", trusted, inner + ":5000", []string{client + ", 10.0.0.0/8"}, inner},
		{"a port out of range", trusted, inner + ":5000", []string{client + ":99999"}, inner},
		{"an empty port", trusted, inner + ":5000", []string{client + ":"}, inner},
		{"an IPv4 address in brackets", trusted, inner + ":5000", []string{"[" + client + "]"}, inner},
		{"an open bracket", trusted, inner + ":5000", []string{"[2001:db8:1::5"}, inner},
		{"a closing bracket only", trusted, inner + ":5000", []string{":" + client + "]"}, inner},
		{"nothing in brackets", trusted, inner + ":5000", []string{"[]"}, inner},
		{"quotes", trusted, inner + ":5000", []string{`"` + client + `"`}, inner},
		{"semicolons do not separate", trusted, inner + ":5000", []string{client + "; " + outer}, inner},
		{"a megabyte of garbage", trusted, inner + ":5000", []string{client + ", " + strings.Repeat("9", 1<<20)}, inner},

		{"as many hops as are examined", trusted, inner + ":5000", []string{
			client + ", " + appended(subject.MaxHops-1, func(int) string { return outer }),
		}, client},
		{"one hop more than are examined", trusted, inner + ":5000", []string{
			client + ", " + appended(subject.MaxHops, func(i int) string { return fmt.Sprintf("10.9.9.%d", i) }),
		}, "10.9.9.0"},
		{"1000 trusted hops", trusted, inner + ":5000", []string{
			client + ", " + appended(1000, func(i int) string { return fmt.Sprintf("10.8.%d.%d", i/250, i%250) }),
		}, "10.8.3.218"},
		{"1000 lines", trusted, inner + ":5000", strings.Split(client+", "+appended(1000, func(i int) string {
			return fmt.Sprintf("10.8.%d.%d", i/250, i%250)
		}), ", "), "10.8.3.218"},
		{"1000 untrusted hops", trusted, inner + ":5000", []string{
			appended(1000, func(i int) string { return fmt.Sprintf("192.0.%d.%d", i/250, i%250) }),
		}, "192.0.3.249"},
		{"1000 commas", trusted, inner + ":5000", []string{client + strings.Repeat(",", 1000)}, inner},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			extractor := newExtractor(t, subject.Config{TrustedProxies: proxies(t, test.trusted...)})
			header := http.Header{}
			if test.forwarded != nil {
				header["X-Forwarded-For"] = test.forwarded
			}
			got, err := extractor.Extract(request(test.peer, header))
			if err != nil {
				t.Fatal(err)
			}
			if got != ip(t, test.want) {
				t.Errorf("got %#v, want that of %s", got, test.want)
			}
		})
	}
}

// Ensure that other headers that proxies write have no say.
func TestClientIPReadsOneHeaderOnly(t *testing.T) {
	for forwarded, read := range map[subject.Forwarded]string{
		"": "X-Forwarded-For", subject.XForwardedFor: "X-Forwarded-For", subject.StandardForwarded: "Forwarded",
	} {
		t.Run(string(forwarded), func(t *testing.T) {
			extractor := newExtractor(t, subject.Config{
				Source: subject.ClientIP, Forwarded: forwarded, TrustedProxies: proxies(t, "10.0.0.0/8"),
			})
			header := http.Header{}
			for _, name := range []string{
				"Forwarded", "X-Forwarded-For", "X-Real-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "X-Forwarded", "Via",
			} {
				for _, value := range []string{"192.0.2.1", "for=192.0.2.1"} {
					if name != read {
						header.Add(name, value)
					}
				}
			}
			got, err := extractor.Extract(request("10.0.0.1:5000", header))
			if err != nil || got != ip(t, "10.0.0.1") {
				t.Errorf("got %#v, %v, want the peer", got, err)
			}
		})
	}
}

// Ensure that a client that writes the header which its proxy does not write
// changes nothing, whichever of the two it is, and that a header in the form of
// the other names nobody.
func TestBothForwardedHeaders(t *testing.T) {
	const client, invented = "203.0.113.9", "192.0.2.1"
	tests := []struct {
		name      string
		forwarded subject.Forwarded
		header    http.Header
		want      string
	}{
		{"X-Forwarded-For is read", subject.XForwardedFor,
			http.Header{"X-Forwarded-For": {client}, "Forwarded": {"for=" + invented}}, client},
		{"Forwarded is read", subject.StandardForwarded,
			http.Header{"X-Forwarded-For": {invented}, "Forwarded": {"for=" + client}}, client},
		{"X-Forwarded-For cannot be read", subject.XForwardedFor,
			http.Header{"X-Forwarded-For": {"unknown"}, "Forwarded": {"for=" + invented}}, "10.0.0.1"},
		{"Forwarded cannot be read", subject.StandardForwarded,
			http.Header{"X-Forwarded-For": {invented}, "Forwarded": {"for=unknown"}}, "10.0.0.1"},
		{"X-Forwarded-For in the form of Forwarded", subject.XForwardedFor,
			http.Header{"X-Forwarded-For": {"for=" + invented}}, "10.0.0.1"},
		{"Forwarded in the form of X-Forwarded-For", subject.StandardForwarded,
			http.Header{"Forwarded": {invented}}, "10.0.0.1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			extractor := newExtractor(t, subject.Config{Forwarded: test.forwarded, TrustedProxies: proxies(t, "10.0.0.0/8")})
			got, err := extractor.Extract(request("10.0.0.1:5000", test.header))
			if err != nil || got != ip(t, test.want) {
				t.Errorf("got %#v, %v, want that of %s", got, err, test.want)
			}
		})
	}
}

// Ensure that one client has one subject, however its address is spelt.
func TestOneClientOneSubject(t *testing.T) {
	tests := []struct {
		name      string
		spellings []string
	}{
		{"loopback", []string{
			"::1", "0:0:0:0:0:0:0:1", "0000:0000:0000:0000:0000:0000:0000:0001", "::0.0.0.1", "[::1]", "[::1]:80", "::1%lo",
		}},
		{"IPv4", []string{
			"1.2.3.4", "::ffff:1.2.3.4", "::FFFF:1.2.3.4", "0:0:0:0:0:ffff:102:304", "1.2.3.4:80", "[::ffff:1.2.3.4]:80",
		}},
		{"a /64", []string{
			"2001:db8::1", "2001:DB8::2", "2001:db8:0:0:ffff:ffff:ffff:ffff", "[2001:db8::3]:443",
		}},
	}
	subjects := make(map[pseudonym.Subject]bool)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			extractor := newExtractor(t, subject.Config{TrustedProxies: proxies(t, "10.0.0.1")})
			one := make(map[pseudonym.Subject]bool)
			for _, spelling := range test.spellings {
				got, err := extractor.Extract(request("10.0.0.1:5000", http.Header{"X-Forwarded-For": {spelling}}))
				if err != nil {
					t.Fatalf("%s: %v", spelling, err)
				}
				one[got], subjects[got] = true, true
			}
			if len(one) != 1 {
				t.Errorf("%d subjects, want 1", len(one))
			}
		})
	}
	if len(subjects) != len(tests) {
		t.Errorf("%d subjects in all, want %d", len(subjects), len(tests))
	}
}

// Ensure that rotating through a /64 does not help, and that neighbours are not
// lumped together.
func TestIPv6Networks(t *testing.T) {
	extractor := newExtractor(t, subject.Config{})
	networks := make(map[pseudonym.Subject]bool)
	for network := range 2 {
		for host := range 100 {
			got, err := extractor.Extract(request(fmt.Sprintf("[2001:db8:0:%d::%x]:5000", network, host), nil))
			if err != nil {
				t.Fatal(err)
			}
			networks[got] = true
		}
	}
	if len(networks) != 2 {
		t.Errorf("%d subjects in two /64, want 2", len(networks))
	}
}

// Ensure that the width of the prefix that counts as one client is that of the
// configuration, for peers and for hops.
func TestIPv6PrefixWidth(t *testing.T) {
	for bits, want := range map[int]int{0: 4, 32: 1, 48: 1, 56: 2, 63: 3, 64: 4, 127: 8, 128: 16} {
		t.Run(fmt.Sprint(bits), func(t *testing.T) {
			extractor := newExtractor(t, subject.Config{
				TrustedProxies: proxies(t, "10.0.0.1"),
				Addressing:     pseudonym.Addressing{IPv6Bits: bits},
			})
			subjects := make(map[pseudonym.Subject]bool)
			for _, network := range []int{0, 1, 2, 0x100} {
				for host := range 4 {
					address := fmt.Sprintf("2001:db8:0:%x::%x", network, host)
					peer, err := extractor.Extract(request("["+address+"]:5000", nil))
					if err != nil {
						t.Fatal(err)
					}
					hop, err := extractor.Extract(request("10.0.0.1:5000", http.Header{"X-Forwarded-For": {address}}))
					if err != nil || hop != peer {
						t.Errorf("%s is another client as a hop: %v", address, err)
					}
					subjects[peer] = true
				}
			}
			if len(subjects) != want {
				t.Errorf("%d subjects, want %d", len(subjects), want)
			}
		})
	}
}

// Ensure that clients behind an IPv4-IPv6 translator share a subject unless the
// translator is a trusted proxy or the width tells them apart, as the package
// comment says.
func TestTranslatedClients(t *testing.T) {
	const one, other = "[64:ff9b::808:808]:5000", "[64:ff9b::909:909]:5000"
	direct := newExtractor(t, subject.Config{})
	a, errA := direct.Extract(request(one, nil))
	b, errB := direct.Extract(request(other, nil))
	if errA != nil || errB != nil || a != b {
		t.Errorf("got %#v, %v and %#v, %v, want one subject", a, errA, b, errB)
	}
	proxied := newExtractor(t, subject.Config{TrustedProxies: proxies(t, "64:ff9b::/96")})
	a, errA = proxied.Extract(request(one, http.Header{"X-Forwarded-For": {"8.8.8.8"}}))
	b, errB = proxied.Extract(request(other, http.Header{"X-Forwarded-For": {"9.9.9.9"}}))
	if errA != nil || errB != nil || a == b {
		t.Errorf("got %#v, %v and %#v, %v, want two subjects", a, errA, b, errB)
	}
	narrow := newExtractor(t, subject.Config{Addressing: pseudonym.Addressing{IPv6Bits: 128}})
	a, errA = narrow.Extract(request(one, nil))
	b, errB = narrow.Extract(request(other, nil))
	if errA != nil || errB != nil || a == b {
		t.Errorf("got %#v, %v and %#v, %v, want two subjects", a, errA, b, errB)
	}
}

// Ensure that a connection without an address is an error, for clients of a
// Unix socket must not share one subject by accident.
func TestPeerWithoutAddress(t *testing.T) {
	for _, peer := range []string{"", "@", "@/run/weir.sock", "/run/weir.sock", "localhost:5000", ":5000", "1.2.3.4:http"} {
		t.Run(peer, func(t *testing.T) {
			forwarded := http.Header{"X-Forwarded-For": {"203.0.113.9"}}
			for name, config := range map[string]subject.Config{
				"client-ip":           {},
				"client-ip, proxies":  {TrustedProxies: proxies(t, "0.0.0.0/0", "::/0")},
				"header, else client": {Source: "header:X-Api-Key", Missing: subject.UseClientIP},
			} {
				_, err := newExtractor(t, config).Extract(request(peer, forwarded))
				if !errors.Is(err, subject.ErrNoAddress) || errors.Is(err, subject.ErrMissing) {
					t.Errorf("%s: error is %v, want ErrNoAddress", name, err)
				}
			}
		})
	}
	t.Run("a header needs no address", func(t *testing.T) {
		extractor := newExtractor(t, subject.Config{Source: "header:X-Api-Key"})
		if _, err := extractor.Extract(request("@", http.Header{"X-Api-Key": {"abc"}})); err != nil {
			t.Error(err)
		}
	})
	t.Run("but is not believed from a peer that could be anybody", func(t *testing.T) {
		extractor := newExtractor(t, subject.Config{Source: "header:X-Api-Key", TrustedProxies: proxies(t, "0.0.0.0/0", "::/0")})
		if _, err := extractor.Extract(request("@", http.Header{"X-Api-Key": {"abc"}})); !errors.Is(err, subject.ErrMissing) {
			t.Errorf("error is %v, want ErrMissing", err)
		}
	})
}

// Ensure that a request that says who is asking is taken at its word exactly
// when that word is unambiguous, bounded and from a believed peer.
func TestHeader(t *testing.T) {
	const key = "X-Api-Key"
	longest := strings.Repeat("k", pseudonym.MaxSubjectBytes)
	trusted := []string{"10.0.0.0/8"}
	tests := []struct {
		name    string
		trusted []string
		peer    string
		values  []string
		want    string // the value; empty: missing
	}{
		{"a value", nil, "203.0.113.9:5000", []string{"abc"}, "abc"},
		{"spaces around", nil, "203.0.113.9:5000", []string{" \tabc\t "}, "abc"},
		{"spaces within", nil, "203.0.113.9:5000", []string{"a b"}, "a b"},
		{"case matters", nil, "203.0.113.9:5000", []string{"ABC"}, "ABC"},
		{"odd bytes stay distinct", nil, "203.0.113.9:5000", []string{"{a}*\xff\x00😀"}, "{a}*\xff\x00😀"},
		{"a list is one value", nil, "203.0.113.9:5000", []string{"abc, def"}, "abc, def"},
		{"the longest", nil, "203.0.113.9:5000", []string{longest}, longest},
		{"the longest with spaces around", nil, "203.0.113.9:5000", []string{"  " + longest + "  "}, longest},
		{"absent", nil, "203.0.113.9:5000", nil, ""},
		{"empty", nil, "203.0.113.9:5000", []string{""}, ""},
		{"spaces only", nil, "203.0.113.9:5000", []string{" \t "}, ""},
		{"too long", nil, "203.0.113.9:5000", []string{longest + "k"}, ""},
		{"a megabyte", nil, "203.0.113.9:5000", []string{strings.Repeat("k", 1<<20)}, ""},
		{"twice", nil, "203.0.113.9:5000", []string{"abc", "def"}, ""},
		{"twice the same", nil, "203.0.113.9:5000", []string{"abc", "abc"}, ""},
		{"twice, once empty", nil, "203.0.113.9:5000", []string{"", "abc"}, ""},
		{"from a trusted proxy", trusted, "10.0.0.1:5000", []string{"abc"}, "abc"},
		{"from an IPv4-mapped trusted proxy", trusted, "[::ffff:10.0.0.1]:5000", []string{"abc"}, "abc"},
		{"past the proxies", trusted, "203.0.113.9:5000", []string{"abc"}, ""},
		{"twice from a trusted proxy", trusted, "10.0.0.1:5000", []string{"abc", "def"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// The proxies' word about the client must not matter, nor the
			// spelling of the name in the configuration.
			header := http.Header{"X-Forwarded-For": {"10.0.0.1"}}
			if test.values != nil {
				header[key] = test.values
			}
			extractor := newExtractor(t, subject.Config{Source: "header:x-api-KEY", TrustedProxies: proxies(t, test.trusted...)})
			got, err := extractor.Extract(request(test.peer, header))
			if test.want == "" {
				var missing *subject.MissingError
				if !errors.Is(err, subject.ErrMissing) || !errors.As(err, &missing) || missing.Header != key {
					t.Errorf("error is %v, want that %s is missing", err, key)
				}
				if !got.IsZero() {
					t.Errorf("got %#v with an error", got)
				}
				return
			}
			want, wantErr := pseudonym.Header(key, test.want)
			if wantErr != nil {
				t.Fatal(wantErr)
			}
			if err != nil || got != want {
				t.Errorf("got %#v, %v, want %#v", got, err, want)
			}
		})
	}
}

// Ensure that two keys from one address are two subjects, and that one key from
// two addresses is one.
func TestHeaderDecidesAlone(t *testing.T) {
	extractor := newExtractor(t, subject.Config{Source: "header:X-Api-Key"})
	extract := func(peer, key string) pseudonym.Subject {
		got, err := extractor.Extract(request(peer, http.Header{"X-Api-Key": {key}}))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if extract("192.0.2.1:1", "one") == extract("192.0.2.1:1", "two") {
		t.Error("two keys share a subject")
	}
	if extract("192.0.2.1:1", "one") != extract("192.0.2.2:2", "one") {
		t.Error("one key has two subjects")
	}
}

// Ensure that clients without the header fall back to their own addresses when
// so configured, and never share one subject.
func TestMissingHeaderUsesClientIP(t *testing.T) {
	tests := []struct {
		name    string
		trusted []string
		peer    string
		header  http.Header
		want    string
	}{
		{"absent", nil, "203.0.113.9:5000", http.Header{}, "203.0.113.9"},
		{"no headers at all", nil, "203.0.113.9:5000", nil, "203.0.113.9"},
		{"another client", nil, "203.0.113.10:5000", http.Header{}, "203.0.113.10"},
		{"twice", nil, "203.0.113.9:5000", http.Header{"X-Api-Key": {"a", "b"}}, "203.0.113.9"},
		{"past the proxies", []string{"10.0.0.0/8"}, "203.0.113.9:5000", http.Header{"X-Api-Key": {"a"}}, "203.0.113.9"},
		{"through a proxy", []string{"10.0.0.0/8"}, "10.0.0.1:5000", http.Header{"X-Forwarded-For": {"203.0.113.9"}}, "203.0.113.9"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			extractor := newExtractor(t, subject.Config{
				Source:         "header:X-Api-Key",
				Missing:        subject.UseClientIP,
				TrustedProxies: proxies(t, test.trusted...),
			})
			got, err := extractor.Extract(request(test.peer, test.header))
			if err != nil || got != ip(t, test.want) {
				t.Errorf("got %#v, %v, want that of %s", got, err, test.want)
			}
		})
	}
}

// Ensure that no header value has the digest of an address.
func TestHeaderNeverPosesAsAddress(t *testing.T) {
	secret, err := pseudonym.NewSecret([]byte(strings.Repeat("s", pseudonym.MinSecretBytes)))
	if err != nil {
		t.Fatal(err)
	}
	key := secret.SubjectKey()
	extractor := newExtractor(t, subject.Config{Source: "header:X-Api-Key", Missing: subject.UseClientIP})
	digest := func(header http.Header) pseudonym.Digest {
		who, err := extractor.Extract(request("192.0.2.1:5000", header))
		if err != nil {
			t.Fatal(err)
		}
		return who.Digest(key)
	}
	victim := digest(nil)
	if victim != ip(t, "192.0.2.1").Digest(key) {
		t.Fatal("the client's address is not its subject")
	}
	for _, value := range []string{
		"192.0.2.1", "ip:192.0.2.1", "ip", "ip::192.0.2.1", "\x00\x00\x00\x00\x00\x00\x00\x02ip192.0.2.1", "header:X-Api-Key:192.0.2.1",
	} {
		if digest(http.Header{"X-Api-Key": {value}}) == victim {
			t.Errorf("the header value %q is the address", value)
		}
	}
}

// Ensure that errors do not give away who was asking.
func TestErrorsNameNobody(t *testing.T) {
	extractor := newExtractor(t, subject.Config{Source: "header:X-Api-Key"})
	_, err := extractor.Extract(request("203.0.113.9:5000", http.Header{"X-Api-Key": {"secret-1", "secret-2"}}))
	if err == nil {
		t.Fatal("want an error")
	}
	for _, private := range []string{"secret", "203.0.113.9"} {
		if strings.Contains(err.Error(), private) {
			t.Errorf("error %q contains %q", err, private)
		}
	}
}

// Ensure that the extractor adds no allocation of its own to that of the
// subject's text.
func TestExtractAllocations(t *testing.T) {
	header := http.Header{
		"X-Forwarded-For": {"203.0.113.9, 10.0.0.2"},
		"Forwarded":       {`for="203.0.113.9:4711";proto=https, for=10.0.0.2`},
		"X-Api-Key":       {"abc"},
	}
	tests := []struct {
		name   string
		config subject.Config
		peer   string
		want   float64
	}{
		{"no proxies", subject.Config{}, "203.0.113.9:5000", 1},
		{"untrusted peer", subject.Config{TrustedProxies: proxies(t, "10.0.0.0/8")}, "203.0.113.9:5000", 1},
		{"trusted peer", subject.Config{TrustedProxies: proxies(t, "10.0.0.0/8")}, "10.0.0.1:5000", 1},
		{"trusted peer, Forwarded", subject.Config{
			TrustedProxies: proxies(t, "10.0.0.0/8"), Forwarded: subject.StandardForwarded,
		}, "10.0.0.1:5000", 1},
		{"header", subject.Config{Source: "header:X-Api-Key"}, "203.0.113.9:5000", 0},
		{"missing header", subject.Config{Source: "header:X-Tenant"}, "203.0.113.9:5000", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			extractor, r := newExtractor(t, test.config), request(test.peer, header)
			if got := testing.AllocsPerRun(100, func() { _, _ = extractor.Extract(r) }); got > test.want {
				t.Errorf("%v allocations, want at most %v", got, test.want)
			}
		})
	}
}

// Ensure that nothing that a client puts into X-Forwarded-For crashes the walk
// or changes who it is, unless its peer is trusted.
func FuzzForwardedFor(f *testing.F) {
	for _, line := range []string{
		"", ",", "203.0.113.9", "203.0.113.9:80, [2001:db8::1]:80", "[::ffff:1.2.3.4%eth0]", "unknown", ":1.2.3.4]", "[", "[]", "[]:1", "%", "::%",
	} {
		f.Add(line, "10.0.0.2")
		f.Add("203.0.113.9", line)
	}
	trusted := proxies(f, "10.0.0.0/8")
	f.Fuzz(func(t *testing.T, first, second string) {
		extractor := newExtractor(t, subject.Config{TrustedProxies: trusted})
		header := http.Header{"X-Forwarded-For": {first, second}}
		if got, err := extractor.Extract(request("203.0.113.9:5000", header)); err != nil || got != ip(t, "203.0.113.9") {
			t.Errorf("an untrusted peer got %#v, %v", got, err)
		}
		walked, err := extractor.Extract(request("10.0.0.1:5000", header))
		if err != nil || walked.IsZero() {
			t.Fatalf("a trusted peer got %#v, %v", walked, err)
		}
		// Lines and list members mean the same.
		joined, err := extractor.Extract(request("10.0.0.1:5000", http.Header{"X-Forwarded-For": {first + "," + second}}))
		if err != nil || joined != walked {
			t.Errorf("got %#v, %v from one line, %#v from two", joined, err, walked)
		}
		// What a client writes to the left of what a trusted proxy appended
		// does not matter.
		appended, err := extractor.Extract(request("10.0.0.1:5000", http.Header{"X-Forwarded-For": {first, second, "203.0.113.9"}}))
		if err != nil || appended != ip(t, "203.0.113.9") {
			t.Errorf("got %#v, %v, want the address that the proxy appended", appended, err)
		}
	})
}

func BenchmarkExtract(b *testing.B) {
	header := http.Header{"X-Forwarded-For": {"203.0.113.9, 10.0.0.2"}, "X-Api-Key": {"abc"}}
	trusted := proxies(b, "10.0.0.0/8", "2001:db8:ff::/48")
	for _, benchmark := range []struct {
		name   string
		config subject.Config
		peer   string
	}{
		{"untrusted peer", subject.Config{TrustedProxies: trusted}, "203.0.113.9:5000"},
		{"two hops", subject.Config{TrustedProxies: trusted}, "10.0.0.1:5000"},
		{"header", subject.Config{Source: "header:X-Api-Key"}, "203.0.113.9:5000"},
	} {
		b.Run(benchmark.name, func(b *testing.B) {
			extractor, r := newExtractor(b, benchmark.config), request(benchmark.peer, header)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = extractor.Extract(r)
			}
		})
	}
}

// Ensure that a fixed subject is that of every request, for whoever asks, and that
// not even nobody is mistaken for an address.
func TestFixed(t *testing.T) {
	everybody, err := pseudonym.ParseSubject("everybody")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []pseudonym.Subject{everybody, {}} {
		extractor := subject.Fixed(want)
		for _, e := range []*subject.Extractor{extractor, extractor.TrustingPeers()} {
			for _, peer := range []string{"192.0.2.1:80", "@"} {
				if got, err := e.Extract(&http.Request{RemoteAddr: peer}); got != want || err != nil {
					t.Errorf("%s is %v, %v, want %v", peer, got, err, want)
				}
			}
		}
		if extractor.ChosenByClients() {
			t.Error("clients can choose it")
		}
	}
}
