package config

import (
	"net"
	"net/netip"
	"strconv"
)

// listenerAddress is where a listener is to listen.
type listenerAddress struct {
	key  string
	host string
	port uint16
}

// listeners checks the addresses of all listeners, each and against the others.
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
}

// collidesWith reports whether a cannot be opened while other is open. With port
// 0 the system sees to that.
func (a listenerAddress) collidesWith(other listenerAddress) bool {
	return a.port == other.port && a.port != 0 &&
		(a.host == other.host || isEveryInterface(a.host) || isEveryInterface(other.host))
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
	if err != nil || host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

func isEveryInterface(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "" || err == nil && addr.IsUnspecified()
}
