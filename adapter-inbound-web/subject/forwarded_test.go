package subject_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"example.com/weir/adapter-inbound-web/subject"
)

// Ensure that the client's address is taken from Forwarded only as far as
// trusted proxies wrote it, in all forms of RFC 7239, whatever the client and
// others wrote.
func TestForwarded(t *testing.T) {
	const (
		client   = "203.0.113.9"
		outsider = "198.51.100.66"
		inner    = "10.0.0.1"
		outer    = "10.0.0.2"
	)
	trusted := []string{"10.0.0.0/8", "2001:db8:ff::/48"}
	tests := []struct {
		name      string
		trusted   []string
		peer      string
		forwarded []string
		want      string // an address
	}{
		{"no proxies: the header is ignored", nil, client, []string{"for=192.0.2.1"}, client},
		{"untrusted peer: the header is ignored", trusted, outsider, []string{"for=" + client}, outsider},
		{"trusted peer without a header", trusted, inner, nil, inner},
		{"one hop", trusted, inner, []string{"for=" + client}, client},
		{"two trusted hops", trusted, inner, []string{"for=" + client + ", for=" + outer}, client},
		{"no spaces", trusted, inner, []string{"for=" + client + ",for=" + outer}, client},
		{"the left-most address is the client's invention", trusted, inner, []string{"for=192.0.2.1, for=" + client}, client},
		{"an untrusted hop ends the walk", trusted, inner, []string{"for=192.0.2.1, for=" + outsider + ", for=" + outer}, outsider},
		{"all hops trusted: the left-most", trusted, inner, []string{"for=10.1.1.1, for=" + outer}, "10.1.1.1"},
		{"two lines: the proxy's is the last", trusted, inner, []string{"for=192.0.2.1", "for=" + client}, client},
		{"two lines are one list", trusted, inner, []string{"for=192.0.2.1, for=" + client, "for=" + outer}, client},

		{"all parameters", trusted, inner, []string{"for=" + client + ";proto=http;by=203.0.113.43;host=example.org"}, client},
		{"in another order", trusted, inner, []string{"proto=http;by=203.0.113.43;for=" + client}, client},
		{"in another case", trusted, inner, []string{"Proto=http;FOR=" + client}, client},
		{"an extension", trusted, inner, []string{"for=" + client + ";secret=abc"}, client},
		{"spaces around parameters", trusted, inner, []string{" for=" + client + " ; proto=http "}, client},
		{"empty parameters", trusted, inner, []string{";for=" + client + ";;proto=http;"}, client},

		{"quoted", trusted, inner, []string{`for="` + client + `"`}, client},
		{"quoted, with a port", trusted, inner, []string{`for="` + client + `:4711"`}, client},
		{"a port without quotes", trusted, inner, []string{"for=" + client + ":4711"}, client},
		{"an obfuscated port", trusted, inner, []string{`for="` + client + `:_http"`}, client},
		{"IPv6", trusted, inner, []string{`for="[2001:db8:1::5]"`}, "2001:db8:1::"},
		{"IPv6 with a port", trusted, inner, []string{`for="[2001:db8:1::5]:443"`}, "2001:db8:1::"},
		{"IPv6 with an obfuscated port", trusted, inner, []string{`for="[2001:db8:1::5]:_a.b-c"`}, "2001:db8:1::"},
		{"IPv6 without quotes", trusted, inner, []string{`for=[2001:db8:1::5]:443`}, "2001:db8:1::"},
		{"IPv4-mapped", trusted, inner, []string{`for="[::ffff:` + client + `]"`}, client},
		{"a trusted IPv6 hop", trusted, inner, []string{"for=" + client + `, for="[2001:db8:ff::1]:443"`}, client},
		{"quoted pairs", trusted, inner, []string{`for="203\.0.113.\9"`}, client},

		{"commas in quotes do not separate", trusted, inner, []string{"for=" + client + `;host="a, for=192.0.2.1"`}, client},
		{"semicolons in quotes do not separate", trusted, inner, []string{"for=" + client + `;host="a;for=192.0.2.1"`}, client},
		{"escaped quotes do not close", trusted, inner, []string{"for=" + client + `;host="a\", for=192.0.2.1, \""`}, client},
		{"escaped backslashes do not escape", trusted, inner, []string{"for=" + client + `;host="a\\", for=` + outer}, client},
		{"a backslash before an escaped quote", trusted, inner, []string{"for=" + client + `;host="a\\\", for=192.0.2.1"`}, client},
		{"a quote that the client left open", trusted, inner, []string{`for="192.0.2.1, for=` + client}, client},
		{"a quote that the client left open, and a quoted hop", trusted, inner, []string{`for="192.0.2.1, for="[2001:db8:1::5]:443"`}, "2001:db8:1::"},
		{"a backslash that the client left open", trusted, inner, []string{`for="192.0.2.1\, for="` + client + `"`}, client},
		{"a quote that is open across lines", trusted, inner, []string{`for="192.0.2.1`, `for="` + client + `"`}, client},

		{"unknown", trusted, inner, []string{"for=" + client + ", for=unknown"}, inner},
		{"unknown behind a good hop", trusted, inner, []string{"for=" + client + ", for=unknown, for=" + outer}, outer},
		{"unknown with a port", trusted, inner, []string{"for=" + client + `, for="unknown:80"`}, inner},
		{"obfuscated", trusted, inner, []string{"for=" + client + ", for=_hidden"}, inner},
		{"obfuscated with a port", trusted, inner, []string{"for=" + client + `, for="_hidden:_port"`}, inner},
		{"no address", trusted, inner, []string{"for=" + client + ", proto=http"}, inner},
		{"two addresses", trusted, inner, []string{"for=" + client + ";for=" + outer}, inner},
		{"IPv6 without brackets", trusted, inner, []string{`for="2001:db8:1::5"`}, inner},
		{"IPv6 in half brackets", trusted, inner, []string{`for="[2001:db8:1::5"`}, inner},
		{"empty", trusted, inner, []string{"for="}, inner},
		{"quoted and empty", trusted, inner, []string{`for=""`}, inner},
		{"an obfuscated port alone", trusted, inner, []string{`for=":_a"`}, inner},
		{"an empty obfuscated port", trusted, inner, []string{`for="` + client + `:_"`}, inner},
		{"a space around the equals sign", trusted, inner, []string{"for = " + client}, inner},
		{"text behind the value", trusted, inner, []string{"for=" + client + " x"}, inner},
		{"text behind the quotes", trusted, inner, []string{`for="` + client + `"x`}, inner},
		{"an unclosed quote", trusted, inner, []string{`for="` + client}, inner},
		{"a quote only", trusted, inner, []string{`"`}, inner},
		{"an address only", trusted, inner, []string{client}, inner},
		{"a faulty parameter behind a good one", trusted, inner, []string{"for=" + client + ";b@d=1"}, inner},
		{"an empty header", trusted, inner, []string{""}, inner},
		{"an empty element", trusted, inner, []string{"for=" + client + ", "}, inner},
		{"a megabyte of garbage", trusted, inner, []string{"for=" + client + `, "` + strings.Repeat(`\`, 1<<20) + `"`}, inner},
		{"a megabyte of quotes", trusted, inner, []string{"for=" + client + `, ` + strings.Repeat(`"`, 1<<20)}, inner},

		{"as many hops as are examined", trusted, inner, []string{
			"for=" + client + ", " + appended(subject.MaxHops-1, func(int) string { return "for=" + outer }),
		}, client},
		{"1000 trusted hops", trusted, inner, []string{
			"for=" + client + ", " + appended(1000, func(i int) string { return fmt.Sprintf(`for="10.8.%d.%d:80"`, i/250, i%250) }),
		}, "10.8.3.218"},
		{"1000 untrusted hops", trusted, inner, []string{
			appended(1000, func(i int) string { return fmt.Sprintf("for=192.0.%d.%d", i/250, i%250) }),
		}, "192.0.3.249"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			extractor := newExtractor(t, subject.Config{
				TrustedProxies: proxies(t, test.trusted...), Forwarded: subject.StandardForwarded,
			})
			header := http.Header{}
			if test.forwarded != nil {
				header["Forwarded"] = test.forwarded
			}
			got, err := extractor.Extract(request(test.peer+":5000", header))
			if err != nil {
				t.Fatal(err)
			}
			if got != ip(t, test.want) {
				t.Errorf("got %#v, want that of %s", got, test.want)
			}
		})
	}
}

// Ensure that nothing that a client puts into Forwarded crashes the walk or
// changes who it is, neither past the proxies nor to the left of what a proxy
// appended, in whatever form the proxy writes.
func FuzzForwarded(f *testing.F) {
	for _, line := range []string{
		"", ",", "for=203.0.113.9", `for="`, `for="\`, `for="a\", for=`, `"`, `for=1.2.3.4;host="a,b\\"`, ";", "for", "=", `for="[::`,
	} {
		f.Add(line)
	}
	trusted := proxies(f, "10.0.0.0/8")
	f.Fuzz(func(t *testing.T, line string) {
		extractor := newExtractor(t, subject.Config{TrustedProxies: trusted, Forwarded: subject.StandardForwarded})
		if got, err := extractor.Extract(request("203.0.113.9:5000", http.Header{"Forwarded": {line}})); err != nil || got != ip(t, "203.0.113.9") {
			t.Errorf("an untrusted peer got %#v, %v", got, err)
		}
		for _, written := range []string{
			`for=203.0.113.9`, `for="203.0.113.9:80"`, `by="[::1]";for="203.0.113.9";host="a\"\\, for=192.0.2.1"`,
			`for=203.0.113.9;proto=https, for="10.0.0.2:80"`,
		} {
			for name, lines := range map[string][]string{"a line": {line, written}, "a list": {line + ", " + written}} {
				got, err := extractor.Extract(request("10.0.0.1:5000", http.Header{"Forwarded": lines}))
				if err != nil || got != ip(t, "203.0.113.9") {
					t.Errorf("%q, and as %s %q: got %#v, %v", line, name, written, got, err)
				}
			}
		}
	})
}
