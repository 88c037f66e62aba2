package subject_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"example.com/weir/adapter-inbound-web/subject"
)

// Two requests of one client that pretends to be two: the proxy at 10.0.0.1
// appended where it saw them come from.
func ExampleExtractor_Extract() {
	proxies, _ := subject.ParseTrustedProxies([]string{"10.0.0.0/8"})
	extractor, _ := subject.New(subject.Config{TrustedProxies: proxies})

	first := httptest.NewRequest(http.MethodGet, "/", nil)
	first.RemoteAddr = "10.0.0.1:41000"
	first.Header.Set("X-Forwarded-For", "192.0.2.1, 203.0.113.9")
	second := first.Clone(first.Context())
	second.Header.Set("X-Forwarded-For", "192.0.2.2, 203.0.113.9")

	one, _ := extractor.Extract(first)
	other, _ := extractor.Extract(second)
	fmt.Println(one, one == other)
	// Output: [ip subject] true
}

func ExampleMissingError() {
	extractor, _ := subject.New(subject.Config{Source: "header:X-Api-Key"})

	_, err := extractor.Extract(httptest.NewRequest(http.MethodGet, "/", nil))

	var missing *subject.MissingError
	fmt.Println(errors.Is(err, subject.ErrMissing), errors.As(err, &missing), missing.Header)
	// Output: true true X-Api-Key
}

func ExampleParseTrustedProxies() {
	proxies, _ := subject.ParseTrustedProxies([]string{"192.0.2.7", "10.0.0.0/8"})
	fmt.Println(proxies)

	_, err := subject.ParseTrustedProxies([]string{"192.0.2.7", "localhost"})
	fmt.Println(err)
	// Output:
	// [192.0.2.7/32 10.0.0.0/8]
	// trusted-proxies[1]: is "localhost", must be an address or a CIDR prefix
}
