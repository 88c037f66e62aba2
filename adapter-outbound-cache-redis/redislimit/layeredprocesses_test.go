package redislimit_test

import (
	"fmt"
	"maps"
	"os"
	"sync"
	"testing"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/ratelimit"
)

const (
	// parallelRequests are those of both processes together.
	parallelRequests = 200
	// tightQuota is less than they ask for, and less than the other level admits.
	tightQuota = 70
)

// crowded is a root with two levels, one of which is tight.
type crowded struct {
	name  string
	tight int // the level
	spec  []ratelimit.PolicySpec
}

// crowdedRoots have two levels of all algorithms, and each of them tight.
func crowdedRoots() []crowded {
	var roots []crowded
	policies := endless(sharedQuota)
	for _, user := range policies {
		for _, tenant := range policies {
			for tight, of := range []string{"user", "tenant"} {
				name := fmt.Sprintf("%s of a user, %s of a tenant, %s tight", user.ID, tenant.ID, of)
				roots = append(roots, crowded{name: name, tight: tight, spec: []ratelimit.PolicySpec{user, tenant}})
			}
		}
	}
	return roots
}

func (c crowded) levels(t *testing.T) []ratelimit.Level {
	t.Helper()
	levels := []ratelimit.Level{level(t, "user", c.name+", user"), level(t, "tenant", c.name)}
	for i := range levels {
		levels[i].PolicyID = c.spec[i].ID
	}
	levels[c.tight].Limit = tightQuota
	return levels
}

// used is what was charged at a level. It asks for one unit more.
func (c crowded) used(t *testing.T, limiter *redislimit.Limiter, place int) int64 {
	t.Helper()
	one := c.levels(t)[place]
	one.Limit = 0
	decision := decideLayers(t, limiter, layeredRequest(t, c.name, one)).Levels[0]
	return decision.Limit - decision.Remaining - 1
}

// Ensure that processes which ask for the same levels at the same time are admitted
// exactly what the tightest level has, and that each level is charged exactly that.
func TestProcessesShareEveryLevel(t *testing.T) {
	if server := os.Getenv(askedServer); server != "" {
		answerAsProcess(t, server, askCrowded)
		return
	}
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		const processes = 2
		admitted, want := askFromProcesses(t, server, processes), make(map[string]int64)
		limiter := newLimiter(t, config(t, server.Addr, endless(sharedQuota)...))
		for _, root := range crowdedRoots() {
			want[root.name] = tightQuota
			for place := range root.spec {
				if used := root.used(t, limiter, place); used != tightQuota {
					t.Errorf("%s: %d are charged at level %d, must be %d", root.name, used, place, tightQuota)
				}
			}
		}
		if !maps.Equal(admitted, want) {
			t.Errorf("admitted %v, must be %v", admitted, want)
		}
	})
}

// askCrowded counts by root what is admitted of half of the requests, all in
// parallel.
func askCrowded(t *testing.T, limiter *redislimit.Limiter) map[string]int64 {
	t.Helper()
	admitted := make(map[string]int64)
	for _, root := range crowdedRoots() {
		one := layeredRequest(t, root.name, root.levels(t)...)
		var callers sync.WaitGroup
		seen := new(tally)
		for range parallelRequests / 2 {
			callers.Go(func() { seen.note(label(evaluateLayers(t, limiter, one)), 0) })
		}
		callers.Wait()
		admitted[root.name] = int64(seen.counts["allowed"])
		if decided := seen.counts["allowed"] + seen.counts["denied"]; decided != parallelRequests/2 {
			t.Errorf("%s: outcomes are %v, must be decisions", root.name, seen.counts)
		}
	}
	return admitted
}
