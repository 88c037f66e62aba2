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
// stopped no client gets its port by chance, and one that keeps dialling it
// cannot connect to itself.
const (
	firstPort = 20_000
	pastPorts = 32_000
)

// port is a TCP port of this machine that no other test takes as long as it is not
// given back, not even while nobody listens there: packages are tested at the same
// time. What keeps it is the UDP port of the same number.
type port struct {
	number int
	kept   net.PacketConn
}

// freePort finds a port on which nobody listens.
func freePort(ctx context.Context) (port, error) {
	var config net.ListenConfig
	for range 100 {
		number := firstPort + rand.IntN(pastPorts-firstPort)
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(number))
		kept, err := config.ListenPacket(ctx, "udp", address)
		if err != nil {
			continue
		}
		listener, err := config.Listen(ctx, "tcp", address)
		if err != nil {
			_ = kept.Close()
			continue
		}
		if err := listener.Close(); err != nil {
			_ = kept.Close()
			return port{}, err
		}
		return port{number: number, kept: kept}, nil
	}
	return port{}, errors.New("found no free port in 100 attempts")
}

func (p port) giveBack() { _ = p.kept.Close() }

func (p port) String() string { return strconv.Itoa(p.number) }
