package redislimit

import (
	"context"
	"log/slog"
	"sync/atomic"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/shared-contract/failure"
)

// health logs when the server stops deciding and when it decides again, and
// stays silent in between however many evaluations fail.
type health struct {
	logger *slog.Logger
	ailing atomic.Bool
}

func (h *health) failed(ctx context.Context, failed *certainty.Failure) {
	if blameless(failed.Category) || h.ailing.Swap(true) {
		return
	}
	h.logger.WarnContext(ctx, "redis does not decide", "category", string(failed.Category), "cause", failed.Err)
}

func (h *health) recovered(ctx context.Context) {
	if h.ailing.Load() && h.ailing.Swap(false) {
		h.logger.InfoContext(ctx, "redis decides again")
	}
}

// blameless categories say nothing about the server.
func blameless(category failure.Category) bool {
	switch category {
	case failure.Saturated, failure.Cancelled, failure.ShuttingDown:
		return true
	}
	return false
}
