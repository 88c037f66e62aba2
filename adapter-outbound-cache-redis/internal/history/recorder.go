// Package history records what the callers of a port were answered, and checks
// whether some order of the calls explains all of it: that each charge was made
// once, and none was lost, whatever happened to the store meanwhile.
package history

import (
	"context"
	"slices"
	"sync"
	"time"

	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// record is what was recorded, of calls of one kind.
type record[C any] struct {
	mu    sync.Mutex
	calls []C
}

func (r *record[C]) add(call C) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
}

// Calls gives the calls that have ended, the earliest end first, without the
// first n of them.
func (r *record[C]) Calls(n int) []C {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls[n:])
}

// Call is one call of a port.
type Call struct {
	Request    ratelimit.Request
	Start, End time.Time
	Outcome    ratelimit.Outcome
}

// Recorder is a port that lets another one answer, and records each call. It is
// safe for concurrent use.
type Recorder struct {
	port     ratelimit.EdgePort
	policies *ratelimit.Snapshot

	record[Call]
}

var _ ratelimit.EdgePort = (*Recorder)(nil)

// NewRecorder records what port answers. policies are those that it enforces all
// the time.
func NewRecorder(port ratelimit.EdgePort, policies *ratelimit.Snapshot) *Recorder {
	return &Recorder{port: port, policies: policies}
}

// Evaluate answers as the port does.
func (r *Recorder) Evaluate(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
	return r.Through(ctx, r.port, request)
}

// Through is Evaluate with another port over the same store.
func (r *Recorder) Through(ctx context.Context, port ratelimit.EdgePort, request ratelimit.Request) ratelimit.Outcome {
	call := Call{Request: request, Start: time.Now()}
	call.Outcome = port.Evaluate(ctx, request)
	call.End = time.Now()
	r.add(call)
	return call.Outcome
}

// Histories gives the calls that have ended, apart by policy and subject.
func (r *Recorder) Histories() []History {
	type owner struct {
		policy  string
		subject pseudonym.Digest
	}
	var histories []History
	position := make(map[owner]int)
	for _, call := range r.Calls(0) {
		policy, known := r.policies.Policy(call.Request.PolicyID())
		if !known {
			continue // there is nothing to be charged
		}
		by := owner{policy.ID(), call.Request.Subject()}
		at, seen := position[by]
		if !seen {
			at = len(histories)
			position[by] = at
			histories = append(histories, History{Policy: policy})
		}
		histories[at].Calls = append(histories[at].Calls, call)
	}
	return histories
}
