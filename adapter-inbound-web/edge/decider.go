package edge

import (
	"context"
	"crypto/rand"
	"time"

	"example.com/weir/adapter-inbound-web/internal/localport"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// decider is what the middleware asks: the port, or the local limiter.
type decider interface {
	decide(context.Context, pseudonym.Subject, charge) ratelimit.Outcome
}

var (
	_ decider = (*portDecider)(nil)
	_ decider = (*localDecider)(nil)
)

// portDecider asks a port under a deadline.
type portDecider struct {
	port     ratelimit.EdgePort
	key      *pseudonym.Key
	deadline time.Duration
}

func (d *portDecider) decide(ctx context.Context, who pseudonym.Subject, c charge) ratelimit.Outcome {
	request, err := ratelimit.NewRequest(ratelimit.RequestSpec{
		PolicyID: c.policyID,
		Subject:  who.Digest(d.key),
		Cost:     c.cost,
	})
	if err != nil {
		return ratelimit.Unavailable{
			Unavailable: failure.Unavailable{Category: failure.InvalidRequest},
			PolicyID:    c.policyID,
		}
	}
	ctx, cancel := context.WithTimeout(ctx, d.deadline)
	defer cancel()
	return d.port.Evaluate(ctx, request)
}

// LocalPolicy is the ID of the policy that stands for a local limiter.
const LocalPolicy = "local"

// LocalProcess is the source of a local limiter's decisions.
const LocalProcess = localport.Process

// localDecider puts the local limiter into the contract's words.
type localDecider struct {
	limiter *locallimit.Limiter
	policy  ratelimit.Policy
	key     *pseudonym.Key
}

// newLocalDecider digests subjects under key, so that the limiter's table holds
// no identities and its keys are all of one size. A nil key means one that
// nobody else has.
func newLocalDecider(limiter *locallimit.Limiter, key *pseudonym.Key) (*localDecider, error) {
	policy, err := localport.NewPolicy(LocalPolicy, 1, int64(limiter.Limit()), limiter.Window())
	if err != nil {
		return nil, err
	}
	if key == nil {
		if key, err = EphemeralKey(); err != nil {
			return nil, err
		}
	}
	return &localDecider{limiter: limiter, policy: policy, key: key}, nil
}

// EphemeralKey returns a new random key, for digests that need not outlive this
// process.
func EphemeralKey() (*pseudonym.Key, error) {
	material := make([]byte, pseudonym.MinSecretBytes)
	rand.Read(material)
	secret, err := pseudonym.NewSecret(material)
	if err != nil {
		return nil, err
	}
	return secret.SubjectKey(), nil
}

func (d *localDecider) decide(_ context.Context, who pseudonym.Subject, _ charge) ratelimit.Outcome {
	digest := who.Digest(d.key)
	result := d.limiter.Take(string(digest[:]))
	return ratelimit.Evaluated{Decision: localport.Decision(d.policy, result, time.Now().UTC())}
}
