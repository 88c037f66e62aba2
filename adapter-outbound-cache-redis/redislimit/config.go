package redislimit

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// Bounds of a [Config].
const (
	MaxTimeout  = time.Minute
	MaxPoolSize = 4096
	MaxInFlight = 1_000_000
)

// Config is what [New] needs. Every field but Username, Password and Logger is
// required.
type Config struct {
	// Endpoint is redis://host:port or redis://host:port/db, or rediss:// and the
	// same for a server that speaks TLS.
	Endpoint string
	// TLS is for a rediss endpoint, and must be zero for any other.
	TLS TLS
	// Username and Password authenticate at the server; an empty Password means
	// no authentication, an empty Username the default user.
	Username, Password string
	// CommandTimeout bounds writing a command and reading its reply. 1 ms to
	// MaxTimeout. An evaluation whose caller leaves less is refused.
	CommandTimeout time.Duration
	// DialTimeout bounds opening a connection. 1 ms to MaxTimeout.
	DialTimeout time.Duration
	// PoolTimeout bounds the wait for a free connection. 1 ms to MaxTimeout.
	PoolTimeout time.Duration
	// Dispatch is Batched or Pooled.
	Dispatch Dispatch
	// Breaker says when a server that does not answer is left alone.
	Breaker Breaker
	// PoolSize is the most connections. 1 to MaxPoolSize.
	PoolSize int
	// MaxInFlight is the most evaluations at one time; one more is refused as
	// saturated. 1 to MaxInFlight.
	MaxInFlight int
	// Secret keys the digests in keys. Processes that share a store share it.
	Secret pseudonym.Secret
	// Catalog holds the policies to enforce.
	Catalog *ratelimit.Catalog
	// Logger hears when the server stops and starts deciding. Nil means none.
	Logger *slog.Logger
}

func (c Config) check() error {
	var faults ratelimit.Faults
	if endpoint, err := parseEndpoint(c.Endpoint); err != nil {
		faults.Add("endpoint", "%v", err)
	} else if !endpoint.secure && !c.TLS.isZero() {
		faults.Add("tls", "must be empty, because the endpoint is not rediss")
	}
	c.TLS.check(&faults)
	c.checkDispatch(&faults)
	faults.AddUnlessBetween("pool-size", int64(c.PoolSize), 1, MaxPoolSize)
	faults.AddUnlessBetween("max-in-flight", int64(c.MaxInFlight), 1, MaxInFlight)
	if c.Secret.IsZero() {
		faults.Add("hmac-secret", "must be given")
	}
	if c.Catalog == nil {
		faults.Add("catalog", "must be given")
	}
	return faults.Err()
}

// endpoint is a parsed Config.Endpoint.
type endpoint struct {
	address  string // host:port
	host     string
	database int
	secure   bool // it speaks TLS
}

// CheckEndpoint says what is wrong with an endpoint's text, without repeating
// it, since somebody may have put a password there.
func CheckEndpoint(text string) error {
	_, err := parseEndpoint(text)
	return err
}

// IsSecure reports whether an endpoint's text, if it is one, asks for TLS.
func IsSecure(text string) bool {
	endpoint, err := parseEndpoint(text)
	return err == nil && endpoint.secure
}

const maxDatabase = 1<<16 - 1

func parseEndpoint(text string) (endpoint, error) {
	const form = "must be redis://host:port or rediss://host:port, with /db or without"
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return endpoint{}, errors.New(form)
	case u.User != nil:
		return endpoint{}, errors.New("must not carry a user or password; they have keys of their own")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return endpoint{}, errors.New("must not carry a query or fragment; options have keys of their own")
	case u.Scheme != "redis" && u.Scheme != "rediss" || u.Opaque != "" || u.Hostname() == "" || u.Port() == "":
		return endpoint{}, errors.New(form)
	}
	if port, err := strconv.ParseUint(u.Port(), 10, 16); err != nil || port == 0 {
		return endpoint{}, errors.New("has a port that is not 1 to 65535")
	}
	e := endpoint{
		address: net.JoinHostPort(u.Hostname(), u.Port()),
		host:    u.Hostname(),
		secure:  u.Scheme == "rediss",
	}
	if path := strings.TrimPrefix(u.Path, "/"); path != "" {
		database, err := strconv.Atoi(path)
		if err != nil || database < 0 || database > maxDatabase {
			return endpoint{}, fmt.Errorf("has a database that is not 0 to %d", maxDatabase)
		}
		e.database = database
	}
	return e, nil
}
