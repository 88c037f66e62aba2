package pseudonym_test

import (
	"fmt"
	"net/netip"
	"testing"

	"example.com/weir/shared-contract/pseudonym"
)

// Ensure which addresses are one client at which width, and that the text form
// names the same client.
func TestAddressing(t *testing.T) {
	tests := []struct {
		name       string
		bits       int
		one, other string
		same       bool
	}{
		{"zero is /64", 0, "2001:db8::1", "2001:db8::ffff:0:0:1", true},
		{"zero is not wider", 0, "2001:db8::1", "2001:db8:0:1::1", false},
		{"/32", 32, "2001:db8::1", "2001:db8:ffff::1", true},
		{"/32, the next", 32, "2001:db8::1", "2001:db9::1", false},
		{"/56", 56, "2001:db8:0:1::1", "2001:db8:0:ff::1", true},
		{"/56, the next", 56, "2001:db8:0:1::1", "2001:db8:0:100::1", false},
		{"/96: clients behind a translator", 96, "64:ff9b::808:808", "64:ff9b::909:909", true},
		{"/128: each for itself", 128, "64:ff9b::808:808", "64:ff9b::909:909", false},
		{"/128: however it is spelt", 128, "2001:db8::1%eth0", "2001:DB8:0:0::1", true},
		{"/32 leaves IPv4 alone", 32, "192.0.2.1", "192.0.2.2", false},
		{"/32 leaves IPv4-mapped addresses alone", 32, "::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
		{"/128: IPv4-mapped is IPv4", 128, "::ffff:192.0.2.1", "192.0.2.1", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			addressing := pseudonym.Addressing{IPv6Bits: test.bits}
			subject := func(text string) pseudonym.Subject {
				who, err := addressing.IP(netip.MustParseAddr(text))
				if err != nil {
					t.Fatal(err)
				}
				parsed, err := addressing.ParseSubject("ip:" + text)
				if err != nil || parsed != who {
					t.Errorf("ip:%s is another subject than the address: %v", text, err)
				}
				return who
			}
			if same := subject(test.one) == subject(test.other); same != test.same {
				t.Errorf("one subject: %t, want %t", same, test.same)
			}
		})
	}
}

// Ensure that a prefix names a client only when it is written with the width in
// force, and that no prefix of IPv4-mapped addresses does.
func TestAddressingParsesPrefixes(t *testing.T) {
	tests := []struct {
		bits         int
		prefix, like string // like is empty: a subject of its own
	}{
		{0, "2001:db8::/64", "2001:db8::1"},
		{0, "2001:db8::5/64", "2001:db8::1"},
		{0, "2001:db8::/56", ""},
		{56, "2001:db8::/56", "2001:db8:0:ff::1"},
		{56, "2001:db8::/64", ""},
		{128, "2001:db8::1/128", "2001:db8::1"},
		{128, "::ffff:192.0.2.1/128", ""},
		{96, "::ffff:0:0/96", ""},
		{32, "192.0.2.1/32", ""},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%d %s", test.bits, test.prefix), func(t *testing.T) {
			addressing := pseudonym.Addressing{IPv6Bits: test.bits}
			got, err := addressing.ParseSubject("ip:" + test.prefix)
			if err != nil {
				t.Fatal(err)
			}
			if test.like == "" {
				if got.String() != "[api subject]" {
					t.Errorf("got %v, want a subject of its own", got)
				}
				return
			}
			want, err := addressing.IP(netip.MustParseAddr(test.like))
			if err != nil || got != want {
				t.Errorf("got another subject than that of %s: %v", test.like, err)
			}
		})
	}
}

// Ensure that a width that is none is refused, rather than making one client of
// all.
func TestAddressingBounds(t *testing.T) {
	for bits, good := range map[int]bool{-1: false, 0: true, 1: false, 31: false, 32: true, 128: true, 129: false} {
		addressing := pseudonym.Addressing{IPv6Bits: bits}
		if err := addressing.Check(); (err == nil) != good || err != nil && err.Error() != fmt.Sprintf("is %d, must be 32 to 128", bits) {
			t.Errorf("%d: %v", bits, err)
		}
		if _, err := addressing.IP(netip.MustParseAddr("2001:db8::1")); (err == nil) != good {
			t.Errorf("an address at %d: %v", bits, err)
		}
		if _, err := addressing.ParseSubject("ip:2001:db8::1"); (err == nil) != good {
			t.Errorf("a text at %d: %v", bits, err)
		}
	}
}

// A provider that hands out a /56 to each household.
func ExampleAddressing() {
	addressing := pseudonym.Addressing{IPv6Bits: 56}
	one, _ := addressing.ParseSubject("ip:2001:db8:0:1::1")
	other, _ := addressing.ParseSubject("ip:2001:db8:0:2::1")
	fmt.Println(one == other)
	// Output: true
}
