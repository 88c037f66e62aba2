package store

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// scanBatch is how many keys one SCAN looks at.
const scanBatch = 5000

// Keys are the keys that match pattern, in no order.
func (o Observer) Keys(ctx context.Context, pattern string) ([]string, error) {
	var keys []string
	scan := o.client.Scan(ctx, 0, pattern, scanBatch).Iterator()
	for scan.Next(ctx) {
		keys = append(keys, scan.Val())
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("look for keys %s: %w", pattern, err)
	}
	return keys, nil
}

// LargestKey is the memory, in bytes, of the largest key that matches pattern:
// its name, its value and what the server needs to hold both. It is an error if
// none matches.
func (o Observer) LargestKey(ctx context.Context, pattern string) (int64, error) {
	keys, err := o.Keys(ctx, pattern)
	if err != nil {
		return 0, err
	}
	if len(keys) == 0 {
		return 0, fmt.Errorf("no key matches %s", pattern)
	}
	sizes, err := o.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, key := range keys {
			pipe.MemoryUsage(ctx, key, 0)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("ask for the size of keys %s: %w", pattern, err)
	}
	largest := int64(0)
	for _, size := range sizes {
		largest = max(largest, size.(*redis.IntCmd).Val())
	}
	return largest, nil
}
