package ratelimittest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// memoryHarness is a store in memory at the far end of a wire that can be cut.
type memoryHarness struct {
	catalog *ratelimit.Catalog
	start   *ratelimit.Snapshot // what the catalog held at first
	wire    atomic.Int32
	flaw    flaw
	store   ratelimit.EdgePort
	layers  ratelimit.LayeredPort // the same store

	mu  sync.Mutex
	now time.Time
}

// States of the wire.
const (
	wireWhole int32 = iota
	wireCut
	wireMute
)

// flaw is what makes an implementation a broken one. The zero flaw makes a sound
// one.
type flaw struct {
	// store replaces the store that all ports share.
	store func(*memoryHarness) ratelimit.EdgePort
	// layers is the same store for several levels, if they make a difference.
	layers func(*memoryHarness) ratelimit.LayeredPort
	// port stands before a port that is sound, in each process.
	port func(h *memoryHarness, sound ratelimit.EdgePort) ratelimit.EdgePort
	// layeredPort does so before a layered port.
	layeredPort func(h *memoryHarness, sound ratelimit.LayeredPort) ratelimit.LayeredPort
}

func newMemoryHarness(catalog *ratelimit.Catalog, flaw flaw) *memoryHarness {
	h := &memoryHarness{catalog: catalog, start: catalog.Current(), flaw: flaw, now: time.Unix(1_800_000_000, 0)}
	memory := NewMemory(catalog, h.time)
	h.store, h.layers = memory, memory
	if flaw.store != nil {
		h.store = flaw.store(h)
	}
	if flaw.layers != nil {
		h.layers = flaw.layers(h)
	}
	return h
}

// edited reports whether the policies, overrides aside, are others than at first.
func (h *memoryHarness) edited() bool {
	return !slices.Equal(h.catalog.Current().Policies(), h.start.Policies())
}

func (h *memoryHarness) time() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *memoryHarness) Pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func (h *memoryHarness) NewPort() ratelimit.EdgePort {
	sound := calls(h.evaluateRemotely)
	if h.flaw.port == nil {
		return sound
	}
	return h.flaw.port(h, sound)
}

func (h *memoryHarness) NewLayeredPort() ratelimit.LayeredPort {
	sound := layeredCalls(h.evaluateLayersRemotely)
	if h.flaw.layeredPort == nil {
		return sound
	}
	return h.flaw.layeredPort(h, sound)
}

func (h *memoryHarness) Disconnect()  { h.wire.Store(wireCut) }
func (h *memoryHarness) LoseReplies() { h.wire.Store(wireMute) }
func (h *memoryHarness) Mend()        { h.wire.Store(wireWhole) }

// replyTimeout is how long a port waits for a reply.
const replyTimeout = 10 * time.Millisecond

func (h *memoryHarness) evaluateRemotely(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
	switch _, refusal := precondition(ctx, h.catalog.Current(), request); {
	case refusal != nil:
		return refusal
	case h.wire.Load() == wireCut:
		return AlwaysUnavailable(failure.Connection, time.Second)(request)
	case h.wire.Load() == wireMute:
		h.store.Evaluate(ctx, request)
		awaitReply(ctx)
		return AlwaysIndeterminate(failure.NoReply, time.Second)(request)
	}
	return h.store.Evaluate(ctx, request)
}

func (h *memoryHarness) evaluateLayersRemotely(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	switch _, refusal := layeredPrecondition(ctx, h.catalog.Current(), request); {
	case refusal != nil:
		return refusal
	case h.wire.Load() == wireCut:
		return LayeredAlwaysUnavailable(failure.Connection, time.Second)(request)
	case h.wire.Load() == wireMute:
		h.layers.EvaluateLayers(ctx, request)
		awaitReply(ctx)
		return LayeredAlwaysIndeterminate(failure.NoReply, time.Second)(request)
	}
	return h.layers.EvaluateLayers(ctx, request)
}

// awaitReply waits for a reply that does not come.
func awaitReply(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(replyTimeout):
	}
}

// calls is an EdgePort that is a function.
type calls func(context.Context, ratelimit.Request) ratelimit.Outcome

func (c calls) Evaluate(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
	return c(ctx, request)
}

// layeredCalls is a LayeredPort that is a function.
type layeredCalls func(context.Context, ratelimit.LayeredRequest) ratelimit.LayeredOutcome

func (c layeredCalls) EvaluateLayers(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	return c(ctx, request)
}
