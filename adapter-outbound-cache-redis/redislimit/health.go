package redislimit

import (
	"context"
	"errors"
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
	if blameless(failed) || h.ailing.Swap(true) {
		return
	}
	h.logger.WarnContext(ctx, "redis does not decide", "category", string(failed.Category), "cause", failed.Err)
}

func (h *health) recovered(ctx context.Context) {
	if h.ailing.Load() && h.ailing.Swap(false) {
		h.logger.InfoContext(ctx, "redis decides again")
	}
}

// blameless failures say nothing about the server. That of a caller who has left
// does not, even if the evaluation was sent: there was no time to answer it, or what
// came of it is not known yet.
func blameless(failed *certainty.Failure) bool {
	if failed.Left || errors.Is(failed.Err, context.Canceled) {
		return true
	}
	switch failed.Category {
	case failure.Saturated, failure.Cancelled, failure.ShuttingDown:
		return true
	}
	return false
}
