package config

import (
	"net"
	"net/netip"
	"strconv"
)

// listeners checks the addresses of both listeners, each and against the other.
func (r *resolver) listeners(web webSection) {
	const public, management = "app.web.address", "app.web.management-address"
	publicHost, publicPort, ok := r.address(public, web.Address)
	managementHost, managementPort, alsoOK := r.address(management, web.ManagementAddress)
	if !ok || !alsoOK || publicPort != managementPort || publicPort == 0 {
		return
	}
	if publicHost == managementHost || isEveryInterface(publicHost) || isEveryInterface(managementHost) {
		r.add(management, "is taken by %s, must be another address", public)
	}
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
