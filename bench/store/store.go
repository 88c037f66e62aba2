// Package store asks a Redis server what work has cost it.
package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// PoolSize is the most connections of each client.
const PoolSize = 32

// Connect gives a client as its users would have it, with [PoolSize]
// connections. It opens none yet.
func Connect(address string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:     address,
		PoolSize: PoolSize,
		// These servers know no maintenance notifications, and would refuse each
		// connection's question for them.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// Observer looks at a server.
type Observer struct {
	client *redis.Client
}

// NewObserver looks at the server through client, which stays the caller's.
func NewObserver(client *redis.Client) Observer { return Observer{client: client} }

// Usage is what a server has used since it started, or since another Usage.
type Usage struct {
	// CPU is the processor time of the server's process.
	CPU time.Duration
	// Calls counts executed commands by their lower-case names.
	Calls map[string]int64
}

// Since is what was used after before.
func (u Usage) Since(before Usage) Usage {
	calls := make(map[string]int64, len(u.Calls))
	for command, count := range u.Calls {
		calls[command] = count - before.Calls[command]
	}
	return Usage{CPU: u.CPU - before.CPU, Calls: calls}
}

// Usage is what the server has used so far. It counts the question too.
func (o Observer) Usage(ctx context.Context) (Usage, error) {
	info, err := o.client.InfoMap(ctx, "cpu", "commandstats").Result()
	if err != nil {
		return Usage{}, fmt.Errorf("ask the server for its usage: %w", err)
	}
	user, err := seconds(info["CPU"]["used_cpu_user"])
	if err != nil {
		return Usage{}, fmt.Errorf("used_cpu_user: %w", err)
	}
	system, err := seconds(info["CPU"]["used_cpu_sys"])
	if err != nil {
		return Usage{}, fmt.Errorf("used_cpu_sys: %w", err)
	}
	calls, err := calls(info["Commandstats"])
	return Usage{CPU: user + system, Calls: calls}, err
}

func seconds(text string) (time.Duration, error) {
	value, err := strconv.ParseFloat(text, 64)
	return time.Duration(value * float64(time.Second)), err
}

// calls reads lines such as cmdstat_evalsha:calls=3,usec=40,….
func calls(stats map[string]string) (map[string]int64, error) {
	counts := make(map[string]int64, len(stats))
	for name, fields := range stats {
		first, _, _ := strings.Cut(fields, ",")
		count, err := strconv.ParseInt(strings.TrimPrefix(first, "calls="), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		counts[strings.TrimPrefix(name, "cmdstat_")] = count
	}
	return counts, nil
}

// Version names the server and its version, such as redis 8.0.2.
func (o Observer) Version(ctx context.Context) (string, error) {
	info, err := o.client.InfoMap(ctx, "server").Result()
	if err != nil {
		return "", fmt.Errorf("ask the server for its version: %w", err)
	}
	server := info["Server"]
	if version := server["valkey_version"]; version != "" {
		return "valkey " + version, nil
	}
	return "redis " + server["redis_version"], nil
}
