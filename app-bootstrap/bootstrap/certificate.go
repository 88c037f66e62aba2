package bootstrap

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"example.com/weir/app-bootstrap/config"
)

// lookEvery is how long the files of a certificate are not looked at again.
const lookEvery = time.Second

// certificate is a pair of files that may be replaced while the process runs.
type certificate struct {
	section string // of the configuration
	files   config.TLS
	logger  *slog.Logger
	pair    atomic.Pointer[tls.Certificate]

	// looking is held by who looks at the files. The others take the pair as it is.
	looking sync.Mutex
	next    time.Time // not before
	seen    [2]os.FileInfo
	failure string // of the files as they were seen; empty if they were loaded
}

// newCertificate returns nil where there are no files. Section is the one that
// names them.
func newCertificate(section string, files config.TLS, logger *slog.Logger) (*certificate, error) {
	if !files.Enabled() {
		return nil, nil
	}
	c := &certificate{section: section, files: files, logger: logger}
	seen, err := c.look()
	if err == nil {
		err = c.load()
	}
	if err != nil {
		return nil, fmt.Errorf("%s, %s.key-file: %w", c.key(), section, err)
	}
	c.seen, c.next = seen, time.Now().Add(lookEvery)
	return c, nil
}

func (c *certificate) key() string { return c.section + ".cert-file" }

// config is nil for no certificate.
func (c *certificate) config() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.latest() }}
}

// latest returns the pair for a handshake, and looks for a new one if it is time.
func (c *certificate) latest() (*tls.Certificate, error) {
	if c.looking.TryLock() {
		c.renew()
		c.looking.Unlock()
	}
	return c.pair.Load(), nil
}

// renew loads files that have changed. While they are broken, such as when only
// one of them has been written, the pair stays as it is. Broken files are tried
// each time: what is wrong need not show in their state, such as who may read
// them. Each state of the files is complained of once.
func (c *certificate) renew() {
	now := time.Now()
	if now.Before(c.next) {
		return
	}
	c.next = now.Add(lookEvery)
	seen, err := c.look()
	unchanged := same(c.seen[0], seen[0]) && same(c.seen[1], seen[1])
	if err == nil {
		if unchanged && c.failure == "" {
			return
		}
		err = c.load()
	}
	c.seen = seen
	if err != nil {
		known := c.failure
		c.failure = err.Error()
		if unchanged && c.failure == known {
			return
		}
		c.logger.Error("the certificate cannot be renewed, the last one stays in use", "key", c.key(), "error", err)
		return
	}
	c.failure = ""
	c.logger.Info("the certificate was renewed", "key", c.key())
}

// look returns the zero value with an error.
func (c *certificate) look() ([2]os.FileInfo, error) {
	certificate, err := os.Stat(c.files.CertificateFile)
	if err != nil {
		return [2]os.FileInfo{}, err
	}
	key, err := os.Stat(c.files.KeyFile)
	if err != nil {
		return [2]os.FileInfo{}, err
	}
	return [2]os.FileInfo{certificate, key}, nil
}

func (c *certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.files.CertificateFile, c.files.KeyFile)
	if err != nil {
		return err
	}
	c.pair.Store(&pair)
	return nil
}

// same is true for two states of a file that cannot be told apart. Nil is that of
// a missing one.
func same(one, other os.FileInfo) bool {
	if one == nil && other == nil {
		return true
	}
	return one != nil && other != nil && os.SameFile(one, other) &&
		one.Size() == other.Size() && one.ModTime().Equal(other.ModTime())
}
