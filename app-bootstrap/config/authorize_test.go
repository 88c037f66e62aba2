package config_test

import (
	"slices"
	"strings"
	"testing"
)

// Ensure that the address for proxies that ask is checked as those of the other
// listeners are, and against them.
func TestLoad_AuthorizeAddress(t *testing.T) {
	for _, test := range []struct {
		name string
		set  []string
		want []string // all faults
	}{
		{"absent", nil, nil},
		{"empty", []string{"app.web.authorize-address="}, nil},
		{"another port", []string{"app.web.authorize-address=127.0.0.1:8082"}, nil},
		{"another interface", []string{"app.web.authorize-address=10.0.0.1:8080"}, nil},
		{"every interface", []string{"app.web.authorize-address=:8082"}, nil},
		{"port 0 for all", []string{"app.web.address=127.0.0.1:0", "app.web.management-address=127.0.0.1:0", "app.web.authorize-address=127.0.0.1:0"}, nil},
		{"no port", []string{"app.web.authorize-address=localhost"},
			[]string{"app.web.authorize-address: must be host:port, such as 127.0.0.1:8080"}},
		{"port beyond the range", []string{"app.web.authorize-address=localhost:65536"},
			[]string{"app.web.authorize-address: must end in a port number, 0 to 65535"}},
		{"the public address", []string{"app.web.authorize-address=127.0.0.1:8080"},
			[]string{"app.web.authorize-address: is taken by app.web.address, must be another address"}},
		{"the management address", []string{"app.web.authorize-address=127.0.0.1:8081"},
			[]string{"app.web.authorize-address: is taken by app.web.management-address, must be another address"}},
		{"every interface covers another", []string{"app.web.authorize-address=0.0.0.0:8080"},
			[]string{"app.web.authorize-address: is taken by app.web.address, must be another address"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg, _, err := load("app: {}", test.set...)
			var got []string
			if err != nil {
				got = strings.Split(err.Error(), "\n")
			}
			if !slices.Equal(got, test.want) {
				t.Fatalf("got %q, want %q", got, test.want)
			}
			want := ""
			if len(test.set) > 0 {
				_, want, _ = strings.Cut(test.set[len(test.set)-1], "=")
			}
			if err == nil && cfg.Web.AuthorizeAddress != want {
				t.Errorf("the address is %q, want %q", cfg.Web.AuthorizeAddress, want)
			}
		})
	}
}
