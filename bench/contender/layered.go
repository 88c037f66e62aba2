package contender

import (
	"context"
	"fmt"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// MostLevels is how many levels the program of several is measured with, from one
// on.
const MostLevels = 5

// LayeredProgram is what results call the program of several levels, with an
// admission under a fixed window at each of them.
func LayeredProgram(levels int) string { return fmt.Sprintf("weir/layered/%d/admission", levels) }

// AllLayered lists the contenders that decide about several levels at once, in the
// order of the results: Weir with more and more of them. No peer knows levels.
func AllLayered() []Contender {
	var all []Contender
	for _, levels := range []int{1, 2, 3, MostLevels} {
		policies := make([]Policy, levels)
		for i := range policies {
			policies[i] = Policy{
				ID:         fmt.Sprintf("bench-levels-%d-%d", levels, i+1), // of 16 characters too
				Parameters: ratelimit.FixedWindow{Limit: windowLimit, Window: window},
			}
		}
		all = append(all, Contender{
			Name:    fmt.Sprintf("weir/layered/%d/batched", levels),
			Command: "evalsha",
			Trips:   OneTrip,
			Levels:  levels,
			Keys:    KeysOf(fmt.Sprintf("bench-levels-%d-?", levels)),
			Open: func(ctx context.Context, address string) (Decider, error) {
				return OpenLayered(ctx, address, redislimit.Batched, policies...)
			},
		})
	}
	return all
}

// Layered is a limiter with requests that have a level under each of its policies.
type Layered struct {
	limiter  *redislimit.Limiter
	requests []ratelimit.LayeredRequest
}

var _ Decider = (*Layered)(nil)

// OpenLayered makes a limiter that is ready. Each request is of another root, and
// has a level for each policy, with a subject of its own: no two requests share a
// counter. There are as many roots as make [Subjects] counters of them all, or
// nearly, so that the server holds as much whatever the number of levels.
func OpenLayered(ctx context.Context, address string, dispatch redislimit.Dispatch, policies ...Policy) (*Layered, error) {
	limiter, key, err := openLimiter(ctx, address, dispatch, policies...)
	if err != nil {
		return nil, err
	}
	l := &Layered{limiter: limiter, requests: make([]ratelimit.LayeredRequest, Roots(len(policies)))}
	for i := range l.requests {
		if l.requests[i], err = newLayeredRequest(policies, subjectName(i), key); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// Roots is how many roots there are.
func Roots(levels int) int { return Subjects / levels }

// newLayeredRequest has the root as the last level's subject.
func newLayeredRequest(policies []Policy, root string, key *pseudonym.Key) (ratelimit.LayeredRequest, error) {
	spec := ratelimit.LayeredRequestSpec{Levels: make([]ratelimit.Level, len(policies))}
	for i, policy := range policies {
		name := fmt.Sprintf("level-%d", i+1)
		subject := root
		if i < len(policies)-1 {
			subject = root + "-" + name
		}
		who, err := digest(subject, key)
		if err != nil {
			return ratelimit.LayeredRequest{}, err
		}
		spec.Levels[i] = ratelimit.Level{Name: name, PolicyID: policy.ID, Subject: who, Cost: 1}
		spec.Root = who // after all, the last level's
	}
	return ratelimit.NewLayeredRequest(spec)
}

// Decide evaluates all levels of a root; subjects share the roots. An outcome that
// is no decision is an error.
func (l *Layered) Decide(ctx context.Context, subject int) (bool, error) {
	outcome := l.limiter.EvaluateLayers(ctx, l.requests[subject%len(l.requests)])
	evaluated, decided := outcome.(ratelimit.LayeredEvaluated)
	if !decided {
		return false, fmt.Errorf("outcome is %+v", outcome)
	}
	return evaluated.Decision.Allowed(), nil
}

// Close closes the limiter; nothing is in flight any more.
func (l *Layered) Close() error { return l.limiter.Close(context.Background()) }
