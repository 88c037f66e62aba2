package redistest

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports of servers lie below the ranges from which systems take the local ports
// of connections (from 32768 on Linux, 49152 elsewhere). While a server is
// stopped nobody gets its port by chance, and a client that keeps dialling it
// cannot connect to itself.
const (
	firstPort = 20_000
	pastPorts = 32_000
)

// freePort finds a port of this machine on which nobody listens.
func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	for range 100 {
		port := firstPort + rand.IntN(pastPorts-firstPort)
		listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			return 0, err
		}
		return port, nil
	}
	return 0, errors.New("found no free port in 100 attempts")
}
