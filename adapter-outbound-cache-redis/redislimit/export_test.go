package redislimit

import "example.com/weir/adapter-outbound-cache-redis/internal/execution"

// Waiting is how many evaluations of a limiter with batched dispatch wait to be
// sent.
func (l *Limiter) Waiting() int { return l.executor.(*execution.Batched).Waiting() }
