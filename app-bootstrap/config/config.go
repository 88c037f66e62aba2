package config

import (
	"crypto/x509"
	"time"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/gateway"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// Config is a valid configuration; [Load] makes it. It may be printed: its
// secrets hide themselves.
type Config struct {
	Web       Web
	RateLimit RateLimit
}

// Web is what lies under app.web: the listeners, and how the public one asks
// and answers.
type Web struct {
	// Address is the public listener's host:port. Port 0 lets the system choose.
	Address string
	// ManagementAddress is the management listener's host:port.
	ManagementAddress string
	// ManagementToken guards the management listener. Empty only on a loopback
	// address.
	ManagementToken Sensitive
	// AuthorizeAddress is the host:port of the listener for proxies that ask
	// whether a request may pass. Empty means that only the management listener
	// answers them.
	AuthorizeAddress string
	// TLS is how the public listener proves who it is.
	TLS TLS
	// H2C lets the public listener take HTTP/2 in clear.
	H2C bool
	// Gateway is the way on to the application. Its upstream is empty where there
	// is none. Its trusted proxies are those of Subject.
	Gateway gateway.Config
	// Subject says who is asking.
	Subject subject.Config
	// CORS says whose pages may read what the edge answers; nil for that of no
	// other origin.
	CORS *answer.CORS
	// Routes are the routes that differ from the default. While distributed
	// limiting is disabled they have neither policy nor cost.
	Routes []edge.Route
	// DefaultRoute says what becomes of a request that no route matches.
	DefaultRoute edge.DefaultRoute
	// Preflight says whether CORS preflight requests count.
	Preflight edge.Preflight
	// EvaluationDeadline bounds an evaluation: 1 ms to 1 minute.
	EvaluationDeadline time.Duration
	// Headers says which families of headers are answered.
	Headers answer.Headers
	// LegacyReset is the unit of X-RateLimit-Reset.
	LegacyReset answer.LegacyReset
	// Shutdown says how to stop.
	Shutdown Shutdown
	// LocalLimiter bounds subjects while distributed limiting is disabled. The
	// fallback of Layers has its MaxSubjects too.
	LocalLimiter locallimit.Config
	// Layers stand in for the default policy; nil where app.web.layers names no
	// set, and while distributed limiting is disabled.
	Layers *Layers
}

// Layers are the levels that a request is charged at which has the identities of
// all of them.
type Layers struct {
	// Set is the name of their set.
	Set string
	// Edge is all that the edge needs to know of them, but for the port and the
	// fallback.
	Edge edge.Layers
}

// Shutdown says how long a stop may take.
type Shutdown struct {
	// Delay is how long the public listener keeps accepting after readiness was
	// withdrawn, so that load balancers can notice: 0 to 5 minutes.
	Delay time.Duration
	// Drain is how long running requests may take to end: 0 to 10 minutes.
	Drain time.Duration
}

// RateLimit is what lies under app.rate-limit.
type RateLimit struct {
	// DefaultPolicy is the policy of whatever names none. It is one of Policies
	// when distributed limiting is enabled.
	DefaultPolicy string
	// Policies are those with the overrides of single subjects. It is never nil,
	// and empty while distributed limiting is disabled.
	Policies *ratelimit.Snapshot
	// Redis is the zero value while distributed limiting is disabled.
	Redis Redis
	// MaxInFlight bounds the evaluations that run at the same time.
	MaxInFlight int
}

// Enabled reports whether limits are kept in a store that processes share.
func (r RateLimit) Enabled() bool { return r.Redis.Endpoint != "" }

// RedisTLS is how the store and this process prove to each other who they are.
type RedisTLS struct {
	// RootCAs are the authorities to believe about the store; nil for those of the
	// system.
	RootCAs *x509.CertPool
	// ServerName is the name in the store's certificate; empty for the host of the
	// endpoint.
	ServerName string
	// Client is what to show to a store that asks for it.
	Client TLS
}

// Redis is the store and how to talk to it.
type Redis struct {
	// Endpoint is redis://host:port, with /db or without, or rediss:// and the
	// same for TLS.
	Endpoint string
	// TLS is the zero value unless Endpoint asks for it.
	TLS RedisTLS
	// Username is empty for the server's default user.
	Username string
	// Password is empty only without a Username.
	Password Sensitive
	// Secret is what pseudonyms are made with.
	Secret pseudonym.Secret
	// CommandTimeout bounds one command: 1 ms to 1 minute in whole milliseconds,
	// as the two below.
	CommandTimeout time.Duration
	// DialTimeout bounds one attempt to connect.
	DialTimeout time.Duration
	// PoolTimeout bounds the wait for a free connection.
	PoolTimeout time.Duration
	// PoolSize is the most connections that are open at once.
	PoolSize int
	// Dispatch is how decisions reach the store.
	Dispatch redislimit.Dispatch
	// Breaker says when a store that does not answer is left alone.
	Breaker redislimit.Breaker
}
