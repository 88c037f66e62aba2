//go:build system

package redislimit_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// Ensure that the fault runs see each way in which a limiter can break its
// promises.
func TestSystemFaultsAreSeen(t *testing.T) {
	lane := redistest.Lanes(t)[0]
	durable, volatile := newScene(t, lane, lasting...), newScene(t, lane)
	for name, plant := range map[string]struct {
		scene *scene
		fault string
		spoil func(*testing.T, *scene, ports) ports
		want  string
	}{
		"charges twice":              {durable, "programs flushed", alone(chargingTwice), "no order of the calls explains"},
		"admits more than the limit": {durable, "programs flushed", alone(ignoringDenials), "admitted of 150"},
		"allows in doubt":            {durable, "replies vanish", alone(allowingInDoubt), "no order of the calls explains"},
		"denies doubt":               {durable, "replies vanish", alone(denyingDoubt), "in doubt:"},
		"takes a refusal for outage": {durable, "evalsha denied", alone(takingRefusalsForOutages), "do not belong to the fault: map[unavailable connection"},
		"recovers late":              {durable, "cut off", alone(recoveringLate), "no 64 decisions in a row"},
		"leaves a goroutine":         {durable, "slow network", alone(leavingGoroutine), "unexpected goroutines"},
		"leaves a socket":            {durable, "slow network", alone(leavingSocket), "sockets, were"},
		"charges levels twice":       {durable, "programs flushed", layered(chargingLevelsTwice), "no order of the calls explains"},
		"charges one level":          {durable, "programs flushed", layered(chargingOneLevel), "charged,"},
		"charges a denial":           {durable, "programs flushed", layered(chargingDenials), "no order of the calls explains"},
		"ignores a level":            {durable, "programs flushed", layered(ignoringUsers), "admitted of 8"},
		"counts tenants elsewhere":   {durable, "programs flushed", alone(countingTenantsElsewhere), "no order of the calls explains"},
		"loses charges in a restart": {volatile, "killed", nil, "no order of the calls explains"},
	} {
		t.Run(name, func(t *testing.T) {
			run := faultRun{scene: plant.scene, fault: faultNamed(t, plant.fault), dispatch: redislimit.Pooled, hold: 300 * time.Millisecond, spoil: plant.spoil}
			run.run(t)
			seen := strings.Join(append(run.violations, run.late...), "\n")
			if !strings.Contains(seen, plant.want) {
				t.Errorf("violations that were seen do not contain %q: %q", plant.want, seen)
			}
		})
	}
}

func faultNamed(t *testing.T, name string) fault {
	t.Helper()
	for _, f := range faults() {
		if f.name == name {
			return f
		}
	}
	t.Fatalf("no fault is named %q", name)
	return fault{}
}

// alone spoils evaluations of one level.
func alone(spoil func(*testing.T, *scene, ratelimit.EdgePort) ratelimit.EdgePort) func(*testing.T, *scene, ports) ports {
	return func(t *testing.T, s *scene, both ports) ports {
		return ports{spoil(t, s, both.EdgePort), both.LayeredPort}
	}
}

// layered spoils evaluations of several levels.
func layered(spoil func(ratelimit.LayeredPort) spoiltLayers) func(*testing.T, *scene, ports) ports {
	return func(_ *testing.T, _ *scene, both ports) ports {
		return ports{both.EdgePort, spoil(both.LayeredPort)}
	}
}

// spoiltLayers is [spoilt] for several levels.
type spoiltLayers func(context.Context, ratelimit.LayeredRequest) ratelimit.LayeredOutcome

func (s spoiltLayers) EvaluateLayers(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	return s(ctx, request)
}

func chargingLevelsTwice(port ratelimit.LayeredPort) spoiltLayers {
	var calls atomic.Int64
	return func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
		if calls.Add(1)%10 == 0 {
			port.EvaluateLayers(ctx, request)
		}
		return port.EvaluateLayers(ctx, request)
	}
}

// chargingOneLevel says that it could not be reached, once the tenant is charged.
func chargingOneLevel(port ratelimit.LayeredPort) spoiltLayers {
	var calls atomic.Int64
	return func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
		if calls.Add(1)%10 == 0 {
			port.EvaluateLayers(ctx, withoutUser(request))
			return ratelimittest.LayeredAlwaysUnavailable(failure.StoreUnready, 0)(request)
		}
		return port.EvaluateLayers(ctx, request)
	}
}

// chargingDenials charges the tenant for what the user is denied.
func chargingDenials(port ratelimit.LayeredPort) spoiltLayers {
	return func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
		outcome := port.EvaluateLayers(ctx, request)
		if label(outcome) == "denied" {
			port.EvaluateLayers(ctx, withoutUser(request))
		}
		return outcome
	}
}

// ignoringUsers allows what only the user is denied.
func ignoringUsers(port ratelimit.LayeredPort) spoiltLayers {
	return func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
		outcome := port.EvaluateLayers(ctx, request)
		if evaluated, decided := outcome.(ratelimit.LayeredEvaluated); decided && !evaluated.Decision.Allowed() {
			levels := evaluated.Decision.Levels
			levels[0].Allowed, levels[0].RetryAfter = true, 0
		}
		return outcome
	}
}

func withoutUser(request ratelimit.LayeredRequest) ratelimit.LayeredRequest {
	spec := ratelimit.LayeredRequestSpec{Root: request.Root()}
	for _, level := range request.Levels() {
		if level.Name == "tenant" {
			spec.Levels = append(spec.Levels, level)
		}
	}
	tenant, err := ratelimit.NewLayeredRequest(spec)
	if err != nil {
		panic(err) // everything stands above
	}
	return tenant
}

// spoilt is a port that makes something else of what another one answers.
type spoilt func(context.Context, ratelimit.Request) ratelimit.Outcome

func (s spoilt) Evaluate(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
	return s(ctx, request)
}

func chargingTwice(_ *testing.T, _ *scene, port ratelimit.EdgePort) ratelimit.EdgePort {
	var calls atomic.Int64
	return spoilt(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		if calls.Add(1)%100 == 0 {
			port.Evaluate(ctx, request)
		}
		return port.Evaluate(ctx, request)
	})
}

// countingTenantsElsewhere has a counter for a tenant by itself that is not its
// level's.
func countingTenantsElsewhere(_ *testing.T, _ *scene, port ratelimit.EdgePort) ratelimit.EdgePort {
	return spoilt(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		if !ofTenant(request) {
			return port.Evaluate(ctx, request)
		}
		subject := request.Subject()
		other, err := ratelimit.NewRequest(ratelimit.RequestSpec{
			PolicyID: request.PolicyID(), Subject: digestOf(string(subject[:])), Cost: request.Cost(),
		})
		if err != nil {
			panic(err) // everything stands above
		}
		return port.Evaluate(ctx, other)
	})
}

func ofTenant(request ratelimit.Request) bool {
	return strings.HasPrefix(request.PolicyID(), tenantPolicies)
}

func ignoringDenials(t *testing.T, _ *scene, port ratelimit.EdgePort) ratelimit.EdgePort {
	policies := snapshot(t, faultPolicies()...)
	return spoilt(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		outcome := port.Evaluate(ctx, request)
		if evaluated, decided := outcome.(ratelimit.Evaluated); decided && !evaluated.Decision.Allowed {
			policy, _ := policies.Policy(request.PolicyID())
			return ratelimittest.AlwaysAllows(policy)(request)
		}
		return outcome
	})
}

// allowingInDoubt is wrong about one subject that is known already: of another one,
// what it says could be true.
func allowingInDoubt(t *testing.T, _ *scene, port ratelimit.EdgePort) ratelimit.EdgePort {
	policies := snapshot(t, faultPolicies()...)
	var known sync.Map
	var doubts atomic.Int64
	return spoilt(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		outcome := port.Evaluate(ctx, request)
		if label(outcome) == "allowed" {
			known.Store(request.Subject(), true)
		}
		_, doubt := outcome.(ratelimit.Indeterminate)
		if _, isKnown := known.Load(request.Subject()); isKnown && doubt && doubts.Add(1) == 1 {
			policy, _ := policies.Policy(request.PolicyID())
			return ratelimittest.AlwaysAllows(policy)(request)
		}
		return outcome
	})
}

// denyingDoubt is wrong about one single subject: a tenant's other doubts can hide it.
func denyingDoubt(_ *testing.T, _ *scene, port ratelimit.EdgePort) ratelimit.EdgePort {
	var doubts atomic.Int64
	return spoilt(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		outcome := port.Evaluate(ctx, request)
		if _, doubt := outcome.(ratelimit.Indeterminate); doubt && !ofTenant(request) && doubts.Add(1) == 1 {
			return ratelimittest.AlwaysUnavailable(failure.NoReply, 0)(request)
		}
		return outcome
	})
}

func takingRefusalsForOutages(_ *testing.T, _ *scene, port ratelimit.EdgePort) ratelimit.EdgePort {
	var refusals atomic.Int64
	return spoilt(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		outcome := port.Evaluate(ctx, request)
		if _, refused := outcome.(ratelimit.Unavailable); refused && refusals.Add(1)%100 == 0 {
			return ratelimittest.AlwaysUnavailable(failure.Connection, 0)(request)
		}
		return outcome
	})
}

// recoveringLate refuses for a time after the last failure.
func recoveringLate(_ *testing.T, _ *scene, port ratelimit.EdgePort) ratelimit.EdgePort {
	var failed atomic.Pointer[time.Time]
	return spoilt(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		if last := failed.Load(); last != nil && time.Since(*last) < 2*recoverWithin {
			return ratelimittest.AlwaysUnavailable(failure.Connection, 0)(request)
		}
		outcome := port.Evaluate(ctx, request)
		if _, decided := outcome.(ratelimit.Evaluated); !decided {
			now := time.Now()
			failed.Store(&now)
		}
		return outcome
	})
}

func leavingGoroutine(t *testing.T, _ *scene, port ratelimit.EdgePort) ratelimit.EdgePort {
	go func() { <-t.Context().Done() }()
	return port
}

func leavingSocket(t *testing.T, s *scene, port ratelimit.EdgePort) ratelimit.EdgePort {
	connection, err := net.Dial("tcp", s.server.Addr)
	must(t, err)
	t.Cleanup(func() { connection.Close() })
	return port
}
