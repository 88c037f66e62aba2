// Package history records what the callers of a limiter were answered, and checks
// whether some order of the calls explains all of it: that each charge was made
// once, and none was lost, whatever happened to the store meanwhile.
package history

import (
	"context"
	"sync"
	"time"

	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// Ports are both ports of one limiter.
type Ports interface {
	ratelimit.EdgePort
	ratelimit.LayeredPort
}

// Recorder lets other ports answer, and records each call. It is safe for
// concurrent use.
type Recorder struct {
	ports    Ports
	policies *ratelimit.Snapshot

	mu    sync.Mutex
	calls []Call // the earliest end first
}

var _ Ports = (*Recorder)(nil)

// NewRecorder records what ports answer. policies are those that they enforce all
// the time.
func NewRecorder(ports Ports, policies *ratelimit.Snapshot) *Recorder {
	return &Recorder{ports: ports, policies: policies}
}

// Evaluate answers as the port does. It records a call of the one level whose
// counter is that of the subject by itself.
func (r *Recorder) Evaluate(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
	call := Call{Request: oneLevel(request), Start: time.Now()}
	outcome := r.ports.Evaluate(ctx, request)
	call.End = time.Now()
	call.Outcome = ofOneLevel(outcome)
	r.add(call)
	return outcome
}

// EvaluateLayers answers as the port does.
func (r *Recorder) EvaluateLayers(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	return r.Through(ctx, r.ports, request)
}

// Through is EvaluateLayers with another port over the same store.
func (r *Recorder) Through(ctx context.Context, port ratelimit.LayeredPort, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	call := Call{Request: request, Start: time.Now()}
	call.Outcome = port.EvaluateLayers(ctx, request)
	call.End = time.Now()
	r.add(call)
	return call.Outcome
}

func (r *Recorder) add(call Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
}

// Histories gives the calls that have ended, apart by root.
func (r *Recorder) Histories() []History {
	r.mu.Lock()
	defer r.mu.Unlock()
	var histories []History
	position := make(map[pseudonym.Digest]int)
	for _, call := range r.calls {
		root := call.Request.Root()
		at, seen := position[root]
		if !seen {
			at = len(histories)
			position[root] = at
			histories = append(histories, History{Policies: r.policies})
		}
		histories[at].Calls = append(histories[at].Calls, call)
	}
	return histories
}

const onlyName = "alone"

func oneLevel(request ratelimit.Request) ratelimit.LayeredRequest {
	only := ratelimit.Level{Name: onlyName, PolicyID: request.PolicyID(), Subject: request.Subject(), Cost: request.Cost()}
	layered, err := ratelimit.NewLayeredRequest(ratelimit.LayeredRequestSpec{
		Root: request.Subject(), Levels: []ratelimit.Level{only},
	})
	if err != nil {
		panic(err) // a valid request has all that a level needs
	}
	return layered
}

func ofOneLevel(outcome ratelimit.Outcome) ratelimit.LayeredOutcome {
	if evaluated, decided := outcome.(ratelimit.Evaluated); decided {
		only := ratelimit.LevelDecision{Level: onlyName, Decision: evaluated.Decision}
		return ratelimit.LayeredEvaluated{Decision: ratelimit.LayeredDecision{Levels: []ratelimit.LevelDecision{only}}}
	}
	failure, _ := outcome.(ratelimit.LayeredOutcome) // each is one of both kinds
	return failure
}
