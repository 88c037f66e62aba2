package edge

import (
	"cmp"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// DefaultDeadline bounds an evaluation unless [Config] says otherwise.
const DefaultDeadline = 250 * time.Millisecond

// DefaultRoute says what becomes of a request that no route matches. The zero
// value means [ChargeDefault].
type DefaultRoute string

const (
	// ChargeDefault charges it one unit under the default policy.
	ChargeDefault DefaultRoute = "default"
	// RejectDefault answers it 404.
	RejectDefault DefaultRoute = "reject"
)

// Preflight says what becomes of CORS preflight requests: OPTIONS with Origin
// and Access-Control-Request-Method. The zero value means [ExemptPreflight].
type Preflight string

const (
	// ExemptPreflight lets them pass undecided, because browsers send them on
	// their own account and would use up their user's quota. They pass on any
	// path, with [RejectDefault] too: the route of the request that they ask for
	// names another method than theirs.
	ExemptPreflight Preflight = "exempt"
	// CountPreflight treats them like any other request.
	CountPreflight Preflight = "count"
)

// Config is what [New] checks.
type Config struct {
	// Port decides by what all processes share. Exactly one of Port and Local
	// must be given.
	Port ratelimit.EdgePort
	// Local decides by what this process alone has seen. Each request then
	// counts one: routes may exempt and reject, but their policies and costs do
	// not apply.
	Local *locallimit.Limiter
	// Catalog holds the policies that Port decides by. Required with Port, not
	// used with Local, as is DefaultPolicy.
	Catalog *ratelimit.Catalog
	// Pseudonym is the key of the subjects' digests: [pseudonym.Secret.SubjectKey].
	// Required with Port. With Local, nil means a key of this edge alone; edges
	// that share both Local and a key, such as [EphemeralKey], share the quotas.
	Pseudonym *pseudonym.Key
	// DefaultPolicy is the ID of the policy for all that no route matches, and
	// for routes that name none.
	DefaultPolicy string
	// Routes say what a request costs. None means that all cost one unit of the
	// default policy.
	Routes []Route
	// Layers stand in for DefaultPolicy, where no route names a policy, if a request
	// has the identities of all their levels. They go with Port only. Nil means none.
	Layers *Layers
	// DefaultRoute says what becomes of requests that no route matches.
	DefaultRoute DefaultRoute
	// Preflight says what becomes of CORS preflight requests.
	Preflight Preflight
	// Subject says who is asking. Nil means the address of the connection's peer.
	Subject *subject.Extractor
	// Deadline bounds an evaluation by Port. Not negative; zero means
	// [DefaultDeadline].
	Deadline time.Duration
	// Headers chooses the rate-limit header fields.
	Headers answer.Headers
	// LegacyReset chooses the form of X-RateLimit-Reset.
	LegacyReset answer.LegacyReset
	// DeniedStatus is the status code of a denial; empty means 429.
	DeniedStatus answer.DeniedStatus
	// CORS says whose pages may read what the edge answers, and the rate-limit
	// header fields of what it lets pass. A handler that sets
	// Access-Control-Expose-Headers, rather than adding to it, takes the latter
	// back. Nil means that of no other origin.
	CORS *answer.CORS
	// Logger gets failures, and denials at debug level. Nil means none.
	Logger *slog.Logger
	// Meter counts the requests that were treated by the failure mode of Layers:
	// weir.edge.degraded, by mode and category of failure, each from zero. Nil means
	// that nobody counts.
	Meter metric.Meter
}

// Route says what requests that match a pattern cost.
type Route struct {
	// Pattern is one of net/http: "POST /quotes/{id}/calculate". Methods and hosts
	// are compared without regard to case. The host has no port.
	Pattern string
	// Policy is the ID of the policy to charge. Empty means the default policy, or
	// the layers that stand in for it.
	Policy string
	// Cost is 1 to the policy's maximum, and to that of each level's policy if layers
	// may stand in for it. Zero means 1.
	Cost int64
	// Exempt lets requests pass undecided. It goes with neither Policy nor Cost.
	Exempt bool
}

func (c Config) deadline() time.Duration { return cmp.Or(c.Deadline, DefaultDeadline) }

// check adds the faults of all that stands by itself in c.
func (c Config) check(faults *ratelimit.Faults) {
	if (c.Port == nil) == (c.Local == nil) {
		faults.Add("port", "exactly one of port and local must be given")
	}
	if c.Port != nil {
		c.checkShared(faults)
	}
	if c.Layers != nil {
		c.checkLayers(faults)
	}
	switch c.DefaultRoute {
	case "", ChargeDefault, RejectDefault:
	default:
		faults.Add("default-route", "is %q, must be %s or %s", string(c.DefaultRoute), ChargeDefault, RejectDefault)
	}
	switch c.Preflight {
	case "", ExemptPreflight, CountPreflight:
	default:
		faults.Add("preflight", "is %q, must be %s or %s", string(c.Preflight), ExemptPreflight, CountPreflight)
	}
	if c.Deadline < 0 {
		faults.Add("deadline", "is %v, must not be negative", c.Deadline)
	}
	if err := c.Headers.Check(); err != nil {
		faults.Add("headers", "%v", err)
	}
	if err := c.LegacyReset.Check(); err != nil {
		faults.Add("legacy-reset", "%v", err)
	}
	if err := c.DeniedStatus.Check(); err != nil {
		faults.Add("denied-status", "%v", err)
	}
}

// checkShared adds the faults of what only a shared limit needs.
func (c Config) checkShared(faults *ratelimit.Faults) {
	if c.Pseudonym == nil {
		faults.Add("pseudonym", "must be given")
	}
	if c.Catalog == nil {
		faults.Add("catalog", "must be given")
		return
	}
	if _, known := c.Catalog.Current().Policy(c.DefaultPolicy); !known {
		faults.Add("default-policy", "there is no policy %q", c.DefaultPolicy)
	}
}

func (c Config) checkLayers(faults *ratelimit.Faults) {
	if c.Local != nil {
		faults.Add("layers", "go with a port, not with a local limiter")
		return
	}
	var policies *ratelimit.Snapshot
	if c.Catalog != nil {
		policies = c.Catalog.Current()
	}
	c.Layers.check(faults, policies)
}
