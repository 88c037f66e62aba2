package contender

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/bench/store"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// algorithm is one of Weir's, with the parameters that it is measured with.
type algorithm struct {
	name       string
	initials   string
	parameters ratelimit.Parameters
}

func algorithms() []algorithm {
	return []algorithm{
		{"fixed-window", "fw", ratelimit.FixedWindow{Limit: windowLimit, Window: window}},
		{"sliding-counter", "sc", ratelimit.SlidingCounter{Limit: windowLimit, Window: window}},
		{"token-bucket", "tb", ratelimit.TokenBucket{Capacity: burst, RefillTokens: 1, RefillInterval: refillPeriod}},
	}
}

// weirs are the adapter over Redis, as the port shows it.
func weirs() []Contender {
	var all []Contender
	for _, algorithm := range algorithms() {
		for _, dispatch := range redislimit.Dispatches() {
			// The length of a policy's ID is part of a key's size; this is of 16.
			policyID := fmt.Sprintf("bench-%s-%s", algorithm.initials, dispatch)
			all = append(all, Contender{
				Name:    fmt.Sprintf("weir/%s/%s", algorithm.name, dispatch),
				Command: "evalsha",
				Trips:   OneTrip,
				Keys:    KeysOf(policyID),
				Open: func(ctx context.Context, address string) (Decider, error) {
					return OpenWeir(ctx, address, dispatch, Policy{policyID, algorithm.parameters})
				},
			})
		}
	}
	return all
}

// KeysOf is the pattern of the keys that hold the state of a policy.
func KeysOf(policyID string) string { return "weir:1:rate:" + policyID + ":*" }

// Weir is a limiter with one policy and its subjects.
type Weir struct {
	limiter  *redislimit.Limiter
	requests []ratelimit.Request
}

var _ Decider = (*Weir)(nil)

// OpenWeir makes a limiter that is ready. Its requests are prepared, as its peers'
// keys are.
func OpenWeir(ctx context.Context, address string, dispatch redislimit.Dispatch, policy Policy) (*Weir, error) {
	limiter, key, err := openLimiter(ctx, address, dispatch, policy)
	if err != nil {
		return nil, err
	}
	w := &Weir{limiter: limiter, requests: make([]ratelimit.Request, Subjects)}
	for i := range w.requests {
		if w.requests[i], err = newRequest(policy.ID, subjectName(i), key); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// openLimiter makes a limiter that is ready, and the key of its subjects' pseudonyms.
func openLimiter(ctx context.Context, address string, dispatch redislimit.Dispatch, policies ...Policy) (*redislimit.Limiter, *pseudonym.Key, error) {
	catalog, err := NewCatalog(policies...)
	if err != nil {
		return nil, nil, err
	}
	secret, err := Secret()
	if err != nil {
		return nil, nil, err
	}
	limiter, err := NewLimiter(ctx, address, dispatch, catalog)
	return limiter, secret.SubjectKey(), err
}

// Decide evaluates. An outcome that is no decision is an error.
func (w *Weir) Decide(ctx context.Context, subject int) (bool, error) {
	outcome := w.limiter.Evaluate(ctx, w.requests[subject])
	evaluated, decided := outcome.(ratelimit.Evaluated)
	if !decided {
		return false, fmt.Errorf("outcome is %+v", outcome)
	}
	return evaluated.Decision.Allowed, nil
}

// Close closes the limiter; nothing is in flight any more.
func (w *Weir) Close() error { return w.limiter.Close(context.Background()) }

// Policy is a policy with everything but its ID and its parameters as usual.
type Policy struct {
	ID         string
	Parameters ratelimit.Parameters
}

// NewCatalog has these policies.
func NewCatalog(policies ...Policy) (*ratelimit.Catalog, error) {
	built := make([]ratelimit.Policy, len(policies))
	for i, policy := range policies {
		var err error
		if built[i], err = policy.build(); err != nil {
			return nil, err
		}
	}
	snapshot, err := ratelimit.NewSnapshot(built...)
	if err != nil {
		return nil, err
	}
	return ratelimit.NewCatalog(snapshot), nil
}

func (p Policy) build() (ratelimit.Policy, error) {
	return ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID:                 p.ID,
		Revision:           1,
		Parameters:         p.Parameters,
		MaxCost:            1,
		CleanupGrace:       time.Minute,
		MaxClockRegression: 250 * time.Millisecond,
		FailurePolicy:      ratelimit.FailClosed,
	})
}

// The client library's own defaults, which the peers have too: a hiccup of the
// machine is to be seen in a latency, and not to end a run.
const (
	commandTimeout = 3 * time.Second
	poolTimeout    = 4 * time.Second
	dialTimeout    = 5 * time.Second
)

// NewLimiter makes a limiter that is prepared.
func NewLimiter(ctx context.Context, address string, dispatch redislimit.Dispatch, catalog *ratelimit.Catalog) (*redislimit.Limiter, error) {
	secret, err := Secret()
	if err != nil {
		return nil, err
	}
	limiter, err := redislimit.New(redislimit.Config{
		Endpoint:       "redis://" + address,
		CommandTimeout: commandTimeout,
		DialTimeout:    dialTimeout,
		PoolTimeout:    poolTimeout,
		PoolSize:       store.PoolSize,
		Dispatch:       dispatch,
		Breaker:        redislimit.Breaker{Failures: 32, OpenFor: 200 * time.Millisecond},
		MaxInFlight:    1024,
		Secret:         secret,
		Catalog:        catalog,
	})
	if err != nil {
		return nil, err
	}
	if err := limiter.Prepare(ctx); err != nil {
		return nil, errors.Join(err, limiter.Close(ctx))
	}
	return limiter, nil
}

// Secret is the same in every process of a run.
func Secret() (pseudonym.Secret, error) {
	return pseudonym.NewSecret([]byte(strings.Repeat("bench", pseudonym.MinSecretBytes)))
}

func newRequest(policyID, subject string, key *pseudonym.Key) (ratelimit.Request, error) {
	who, err := digest(subject, key)
	if err != nil {
		return ratelimit.Request{}, err
	}
	return ratelimit.NewRequest(ratelimit.RequestSpec{PolicyID: policyID, Subject: who, Cost: 1})
}

func digest(subject string, key *pseudonym.Key) (pseudonym.Digest, error) {
	who, err := pseudonym.ParseSubject(subject)
	if err != nil {
		return pseudonym.Digest{}, err
	}
	return who.Digest(key), nil
}
