package redistest

import (
	"crypto/tls"
	"path"
	"slices"
	"strconv"
	"testing"
)

// setup is how a server is to be started.
type setup struct {
	// own are the caller's arguments.
	own []string
	// encryption is nil for a server that speaks in clear.
	encryption *encryption
}

// encryption is how to speak TLS with a server.
type encryption struct {
	files  map[string][]byte // of the server, by their name
	client *tls.Config       // of who looks after it
}

func newEncryption(tb testing.TB, authority *Authority, hosts []string) *encryption {
	tb.Helper()
	server, client := authority.Issue(tb, slices.Concat(hosts, []string{adminName})...), authority.Issue(tb)
	return &encryption{
		files: map[string][]byte{
			certificateFile: server.Certificate,
			keyFile:         server.Key,
			authorityFile:   authority.PEM(),
		},
		client: &tls.Config{
			MinVersion:   tls.VersionTLS12,
			RootCAs:      authority.Pool(),
			ServerName:   adminName,
			Certificates: []tls.Certificate{client.Pair(tb)},
		},
	}
}

// adminName is in every server's certificate, so that the server can be looked
// after under whatever other names it has.
const adminName = "admin.test"

// The files of a server that speaks TLS.
const (
	certificateFile = "server.crt"
	keyFile         = "server.key"
	authorityFile   = "ca.crt"
)

// arguments are those of a server that keeps nothing on disk. The caller's own
// come last and win.
func (s setup) arguments(bind string, port int, directory string) []string {
	arguments := []string{
		"--bind", bind,
		"--protected-mode", "no",
		"--save", "",
		"--appendonly", "no",
	}
	if s.encryption == nil {
		arguments = append(arguments, "--port", strconv.Itoa(port))
	} else {
		arguments = append(arguments,
			"--port", "0",
			"--tls-port", strconv.Itoa(port),
			"--tls-cert-file", path.Join(directory, certificateFile),
			"--tls-key-file", path.Join(directory, keyFile),
			"--tls-ca-cert-file", path.Join(directory, authorityFile),
			"--tls-auth-clients", "no",
		)
	}
	return append(arguments, s.own...)
}

func (s setup) files() map[string][]byte {
	if s.encryption == nil {
		return nil
	}
	return s.encryption.files
}

func (s setup) client() *tls.Config {
	if s.encryption == nil {
		return nil
	}
	return s.encryption.client
}
