package history

import (
	"context"
	"time"

	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// LayeredRecorder is a [Recorder] for calls of several levels. It is safe for
// concurrent use.
type LayeredRecorder struct {
	port     ratelimit.LayeredPort
	policies *ratelimit.Snapshot

	record[LayeredCall]
}

var _ ratelimit.LayeredPort = (*LayeredRecorder)(nil)

// NewLayeredRecorder records what port answers. policies are those that it
// enforces all the time.
func NewLayeredRecorder(port ratelimit.LayeredPort, policies *ratelimit.Snapshot) *LayeredRecorder {
	return &LayeredRecorder{port: port, policies: policies}
}

// EvaluateLayers answers as the port does.
func (r *LayeredRecorder) EvaluateLayers(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	return r.Through(ctx, r.port, request)
}

// Through is EvaluateLayers with another port over the same store.
func (r *LayeredRecorder) Through(ctx context.Context, port ratelimit.LayeredPort, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	call := LayeredCall{Request: request, Start: time.Now()}
	call.Outcome = port.EvaluateLayers(ctx, request)
	call.End = time.Now()
	r.add(call)
	return call.Outcome
}

// Histories gives the calls that have ended, apart by root.
func (r *LayeredRecorder) Histories() []LayeredHistory {
	var histories []LayeredHistory
	position := make(map[pseudonym.Digest]int)
	for _, call := range r.Calls(0) {
		root := call.Request.Root()
		at, seen := position[root]
		if !seen {
			at = len(histories)
			position[root] = at
			histories = append(histories, LayeredHistory{Policies: r.policies})
		}
		histories[at].Calls = append(histories[at].Calls, call)
	}
	return histories
}
