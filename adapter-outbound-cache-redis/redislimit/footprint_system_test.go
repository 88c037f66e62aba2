//go:build system

package redislimit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// footprint is what this process occupies.
type footprint struct {
	goroutines goleak.Option
	sockets    int
}

func takeFootprint(t *testing.T) footprint {
	t.Helper()
	sockets, err := tcpSockets()
	must(t, err)
	return footprint{goroutines: goleak.IgnoreCurrent(), sockets: sockets}
}

// outgrown lists what is there now and was not then, once that has had time to
// go away.
func (f footprint) outgrown() []string {
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if grown := f.outgrownNow(); len(grown) == 0 || time.Now().After(deadline) {
			return grown
		}
	}
}

func (f footprint) outgrownNow() (grown []string) {
	if err := goleak.Find(
		f.goroutines,
		// Docker's client keeps idle connections, and a proxy that was mended listens.
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("example.com/weir/adapter-outbound-cache-redis/redistest.(*Proxy).accept"),
	); err != nil {
		grown = append(grown, err.Error())
	}
	sockets, err := tcpSockets()
	if err != nil {
		return append(grown, err.Error())
	}
	if sockets > f.sockets {
		grown = append(grown, fmt.Sprintf("%d sockets, were %d", sockets, f.sockets))
	}
	return grown
}

// tcpSockets counts those of this process. Docker's are of another kind.
func tcpSockets() (int, error) {
	inodes := make(map[string]bool)
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(text)) {
			const inode = 9
			if columns := strings.Fields(line); len(columns) > inode {
				inodes["socket:["+columns[inode]+"]"] = true
			}
		}
	}
	descriptors, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return 0, err
	}
	sockets := 0
	for _, descriptor := range descriptors {
		if target, err := os.Readlink(descriptor); err == nil && inodes[target] {
			sockets++
		}
	}
	return sockets, nil
}
