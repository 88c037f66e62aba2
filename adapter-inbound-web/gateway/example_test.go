package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/weir/adapter-inbound-web/gateway"
)

// An application that says where it was asked, and by whom.
func Example() {
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Host, r.URL, " for ", r.Header.Get("X-Forwarded-For"))
	}))
	defer application.Close()

	forward, err := gateway.New(gateway.Config{
		Upstream:              application.URL,
		DialTimeout:           2 * time.Second,
		TLSTimeout:            5 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
		IdleTimeout:           90 * time.Second,
		MaxIdleConnections:    128,
	})
	if err != nil {
		panic(err)
	}
	defer forward.Close()

	w := httptest.NewRecorder()
	forward.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://shop.test/quotes//7", http.NoBody))
	fmt.Println(w.Code, w.Body)
	// Output: 200 shop.test/quotes/7 for 192.0.2.1
}
