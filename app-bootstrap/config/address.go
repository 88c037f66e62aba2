package config

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// listenerAddress is where a listener is to listen.
type listenerAddress struct {
	key  string
	host string
	port uint16
}

// listeners checks the addresses of all listeners, each and against the others,
// and that the upstream is none of them.
func (r *resolver) listeners(web webSection) {
	var taken []listenerAddress
	for _, given := range []struct{ key, address string }{
		{"app.web.address", web.Address},
		{"app.web.management-address", web.ManagementAddress},
		{"app.web.authorize-address", web.AuthorizeAddress},
	} {
		if given.key == "app.web.authorize-address" && given.address == "" {
			continue // it may be absent
		}
		host, port, ok := r.address(given.key, given.address)
		if !ok {
			continue
		}
		listener := listenerAddress{given.key, host, port}
		for _, other := range taken {
			if listener.collidesWith(other) {
				r.add(listener.key, "is taken by %s, must be another address", other.key)
			}
		}
		taken = append(taken, listener)
	}
	upstream, ok := upstreamAddress(web.Upstream)
	for _, listener := range taken {
		if ok && upstream.leadsTo(listener) {
			r.add(upstreamKey, "leads to %s, must be the address of the application", listener.key)
			return
		}
	}
}

// upstreamAddress does not say what is wrong with an upstream; the gateway does.
func upstreamAddress(upstream string) (listenerAddress, bool) {
	parsed, err := url.Parse(upstream)
	if err != nil || parsed.Hostname() == "" {
		return listenerAddress{}, false
	}
	defaults := map[string]string{"http": "80", "https": "443"}
	port, err := strconv.ParseUint(cmp.Or(parsed.Port(), defaults[parsed.Scheme]), 10, 16)
	return listenerAddress{upstreamKey, parsed.Hostname(), uint16(port)}, err == nil
}

// leadsTo reports whether who connects to a reaches listener. A name or an
// address of this machine other than the loopback ones is not recognized: most
// are of another machine.
func (a listenerAddress) leadsTo(listener listenerAddress) bool {
	if isLoopbackHost(a.host) || isEveryInterface(a.host) {
		return a.collidesWith(listener)
	}
	return a.port == listener.port && a.port != 0 && isSameHost(a.host, listener.host)
}

// collidesWith reports whether a cannot be opened while other is open. With port
// 0 the system sees to that.
func (a listenerAddress) collidesWith(other listenerAddress) bool {
	return a.port == other.port && a.port != 0 &&
		(isSameHost(a.host, other.host) || isEveryInterface(a.host) || isEveryInterface(other.host))
}

func (r *resolver) address(key, address string) (host string, port uint16, ok bool) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		r.add(key, "must be host:port, such as 127.0.0.1:8080")
		return "", 0, false
	}
	number, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		r.add(key, "must end in a port number, 0 to 65535")
		return "", 0, false
	}
	return host, uint16(number), true
}

// isLoopback reports whether only this machine can reach address. What cannot
// be read counts as loopback: another fault says what is wrong with it.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err != nil || isLoopbackHost(host)
}

func isLoopbackHost(host string) bool {
	if isLocalhost(host) {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

func isLocalhost(host string) bool {
	return strings.EqualFold(strings.TrimSuffix(host, "."), "localhost")
}

// isSameHost takes localhost for the two addresses that it stands for.
func isSameHost(one, other string) bool {
	if strings.EqualFold(one, other) {
		return true
	}
	first, err := netip.ParseAddr(one)
	second, otherErr := netip.ParseAddr(other)
	switch {
	case err == nil && otherErr == nil:
		return first.Unmap() == second.Unmap()
	case err == nil:
		return isLocalhost(other) && isLocalhostAddress(first)
	case otherErr == nil:
		return isLocalhost(one) && isLocalhostAddress(second)
	default:
		return isLocalhost(one) && isLocalhost(other)
	}
}

func isLocalhostAddress(addr netip.Addr) bool {
	return addr.Unmap() == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || addr == netip.IPv6Loopback()
}

func isEveryInterface(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "" || err == nil && addr.IsUnspecified()
}
