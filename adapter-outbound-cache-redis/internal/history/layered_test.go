package history

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// Ensure that every history which a correct layered port may write is accepted,
// and that no level may be charged without the others, nor a tenant by itself to
// another counter than its level.
func TestCheckLayers(t *testing.T) {
	for name, test := range map[string]struct {
		ports func(*store) ports
		want  error
	}{
		"decides":                    {together(nil), nil},
		"leaves in doubt, charged":   {together(doubting(once)), nil},
		"leaves in doubt, uncharged": {together(doubting(never)), nil},
		"refuses":                    {together(refusing(never)), nil},

		"charges twice":                     {together(answering(twice)), ErrImpossible},
		"charges twice, in doubt":           {together(doubting(twice)), ErrImpossible},
		"charges and refuses":               {together(refusing(once)), ErrImpossible},
		"allows without a charge":           {together(allowsLevelsForFree), ErrImpossible},
		"charges the user once more":        {together(answering(userTwice)), ErrImpossible},
		"charges the tenant once more":      {together(answering(tenantTwice)), ErrImpossible},
		"charges the user alone, in doubt":  {together(doubting(userOnly)), ErrImpossible},
		"charges the tenant alone, refuses": {together(refusing(tenantOnly)), ErrImpossible},
		"makes an admission up":             {together(makesLevelsUp), ErrImpossible},
		"leaves a level out":                {together(leavesALevelOut), ErrImpossible},

		"leaves the tenant alone in doubt, charged":   {alone(chargesInDoubt), nil},
		"leaves the tenant alone in doubt, uncharged": {alone(doubtsInVain), nil},

		"charges the tenant alone twice":           {alone(chargesTwice), ErrImpossible},
		"charges the tenant alone twice, in doubt": {alone(chargesTwiceInDoubt), ErrImpossible},
		"charges the tenant alone and refuses":     {alone(chargesAndRefuses), ErrImpossible},
		"allows the tenant alone without a charge": {alone(allowsForFree), ErrImpossible},
		"charges the tenant alone elsewhere":       {alone(elsewhere), ErrImpossible},
		"charges the tenant's level elsewhere":     {levelsElsewhere, ErrImpossible},
	} {
		for algorithms, parameters := range map[string]map[string]ratelimit.Parameters{
			"window and log": {
				"user":   ratelimit.FixedWindow{Limit: userQuota, Window: decade},
				"tenant": ratelimit.SlidingLog{Limit: 200, Window: decade},
			},
			"counter and bucket": {
				"user":   ratelimit.SlidingCounter{Limit: userQuota, Window: season},
				"tenant": ratelimit.TokenBucket{Capacity: 200, RefillTokens: 200, RefillInterval: decade},
			},
		} {
			t.Run(name+", "+algorithms, func(t *testing.T) {
				t.Parallel()
				policies := snapshotOf(t, parameters)
				recorder := NewRecorder(test.ports(newStore(policies)), policies)
				askLayers(t, recorder)
				histories := recorder.Histories()
				if len(histories) != subjects {
					t.Fatalf("%d histories, want %d", len(histories), subjects)
				}
				var errs []error
				for _, history := range histories {
					errs = append(errs, history.Check())
				}
				if err := errors.Join(errs...); !errors.Is(err, test.want) || test.want == nil && err != nil {
					t.Errorf("checking says %v, want %v; one history is\n%v", err, test.want, histories[0])
				}
			})
		}
	}
}

// Ensure that a level of which a history does not show all is not taken for good.
func TestCheckRefusesSharedLevels(t *testing.T) {
	policies := snapshotOf(t, map[string]ratelimit.Parameters{"user": ratelimit.FixedWindow{Limit: 5, Window: decade}})
	recorder := NewRecorder(newStore(policies).port(), policies)
	evaluateLayers(t, recorder, 1, ratelimit.Level{Name: "all", PolicyID: "user", Subject: pseudonym.Digest{1}, Cost: 1, Shared: true})
	if err := recorder.Histories()[0].Check(); !errors.Is(err, errShared) {
		t.Errorf("checking says %v, want %v", err, errShared)
	}
}

// Ensure that sums of levels count what their names say, counter by counter.
func TestLayeredSums(t *testing.T) {
	policies := snapshotOf(t, map[string]ratelimit.Parameters{
		"user": ratelimit.FixedWindow{Limit: 5, Window: decade}, "tenant": ratelimit.FixedWindow{Limit: 50, Window: decade},
	})
	recorder := NewRecorder(together(doubting(once))(newStore(policies)), policies)
	for range every {
		evaluateLayers(t, recorder, 1, levels(1, 2)...)
	}
	evaluate(t, recorder, "tenant", 1)
	// Two are allowed, and the last one is in doubt; the others are denied. The tenant
	// by itself is allowed too.
	history := recorder.Histories()[0]
	user, tenant := CounterOf(levels(1, 2)[0]), CounterOf(levels(1, 2)[1])
	for name, sums := range map[string]struct{ got, want map[Counter]int64 }{
		"admitted": {history.Admitted(), map[Counter]int64{user: 4, tenant: 3}},
		"in doubt": {history.Doubtful(), map[Counter]int64{user: 2, tenant: 1}},
	} {
		if !maps.Equal(sums.got, sums.want) {
			t.Errorf("%s: %v, want %v", name, sums.got, sums.want)
		}
	}
}

const (
	users     = 5
	userQuota = 50
)

// askLayers has callers ask for users of some tenants at the same time, and every
// third time for the tenant by itself.
func askLayers(t *testing.T, ports Ports) {
	var asking sync.WaitGroup
	for caller := range callers {
		asking.Go(func() {
			for n := range each {
				root, user := byte((caller+n)%subjects), byte(n%users)
				if n%3 == 0 {
					evaluate(t, ports, "tenant", root)
					continue
				}
				evaluateLayers(t, ports, root, levels(root, user)...)
			}
		})
	}
	asking.Wait()
}

// levels are those of a user and of the tenant: a cost of 1 or 2, and of 1.
func levels(root, user byte) []ratelimit.Level {
	return []ratelimit.Level{
		{Name: "user", PolicyID: "user", Subject: pseudonym.Digest{user, 2}, Cost: 1 + int64(user/2)%2},
		{Name: "tenant", PolicyID: "tenant", Subject: pseudonym.Digest{root, 1}, Cost: 1},
	}
}

func evaluateLayers(t *testing.T, port ratelimit.LayeredPort, root byte, levels ...ratelimit.Level) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	port.EvaluateLayers(ctx, layersUnder(pseudonym.Digest{root, 1}, levels...))
}

func layersUnder(root pseudonym.Digest, levels ...ratelimit.Level) ratelimit.LayeredRequest {
	request, err := ratelimit.NewLayeredRequest(ratelimit.LayeredRequestSpec{Root: root, Levels: levels})
	if err != nil {
		panic(err) // everything stands above
	}
	return request
}

// ports are those of one store, of which at most one misbehaves.
type ports struct {
	ratelimit.EdgePort
	ratelimit.LayeredPort
}

// together lets calls of several levels misbehave; nil does not.
func together(misbehave layeredPort) func(*store) ports {
	return func(s *store) ports { return ports{s.port(), s.layersOtherwise(misbehave)} }
}

// alone lets calls for a subject by itself misbehave.
func alone(misbehave func(*store) ratelimit.EdgePort) func(*store) ports {
	return func(s *store) ports { return ports{misbehave(s), s.port()} }
}

// elsewhere has a counter for a tenant by itself that is not its level's.
func elsewhere(s *store) ratelimit.EdgePort {
	return port(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
		other, err := ratelimit.NewRequest(ratelimit.RequestSpec{
			PolicyID: request.PolicyID(), Subject: inverse(request.Subject()), Cost: request.Cost(),
		})
		if err != nil {
			panic(err) // everything stands above
		}
		return s.port().Evaluate(ctx, other)
	})
}

// levelsElsewhere has counters for levels that are all under another root.
func levelsElsewhere(s *store) ports {
	return ports{s.port(), layeredFunc(func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
		var levels []ratelimit.Level
		for _, level := range request.Levels() {
			levels = append(levels, level)
		}
		return s.port().EvaluateLayers(ctx, layersUnder(inverse(request.Root()), levels...))
	})}
}

func inverse(subject pseudonym.Digest) pseudonym.Digest {
	for i := range subject {
		subject[i] = ^subject[i]
	}
	return subject
}

// layeredPort answers with the help of a correct one.
type layeredPort func(ctx context.Context, correct ratelimit.LayeredPort, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome

// layersOtherwise lets misbehave answer each time when some calls have passed.
func (s *store) layersOtherwise(misbehave layeredPort) ratelimit.LayeredPort {
	return layeredFunc(func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
		if s.calls.Add(1)%every == 0 && misbehave != nil {
			return misbehave(ctx, s.port(), request)
		}
		return s.port().EvaluateLayers(ctx, request)
	})
}

type layeredFunc func(context.Context, ratelimit.LayeredRequest) ratelimit.LayeredOutcome

func (f layeredFunc) EvaluateLayers(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	return f(ctx, request)
}

// requests are what a misbehaving port makes of one.
type requests func(ratelimit.LayeredRequest) []ratelimit.LayeredRequest

func never(ratelimit.LayeredRequest) []ratelimit.LayeredRequest { return nil }

func once(request ratelimit.LayeredRequest) []ratelimit.LayeredRequest {
	return []ratelimit.LayeredRequest{request}
}

func twice(request ratelimit.LayeredRequest) []ratelimit.LayeredRequest {
	return []ratelimit.LayeredRequest{request, request}
}

func userOnly(request ratelimit.LayeredRequest) []ratelimit.LayeredRequest {
	return []ratelimit.LayeredRequest{onlyLevel(request, 0)}
}

func tenantOnly(request ratelimit.LayeredRequest) []ratelimit.LayeredRequest {
	return []ratelimit.LayeredRequest{onlyLevel(request, 1)}
}

func userTwice(request ratelimit.LayeredRequest) []ratelimit.LayeredRequest {
	return []ratelimit.LayeredRequest{onlyLevel(request, 0), request}
}

func tenantTwice(request ratelimit.LayeredRequest) []ratelimit.LayeredRequest {
	return []ratelimit.LayeredRequest{onlyLevel(request, 1), request}
}

func onlyLevel(request ratelimit.LayeredRequest, place int) ratelimit.LayeredRequest {
	for i, level := range request.Levels() {
		if i == place {
			return layersUnder(request.Root(), level)
		}
	}
	return request
}

// answering gives the answer to the last of several requests.
func answering(several requests) layeredPort {
	return func(ctx context.Context, correct ratelimit.LayeredPort, request ratelimit.LayeredRequest) (outcome ratelimit.LayeredOutcome) {
		for _, one := range several(request) {
			outcome = correct.EvaluateLayers(ctx, one)
		}
		return outcome
	}
}

func doubting(several requests) layeredPort {
	return insteadOf(answering(several), ratelimittest.LayeredAlwaysIndeterminate(failure.NoReply, 0))
}

func refusing(several requests) layeredPort {
	return insteadOf(answering(several), ratelimittest.LayeredAlwaysUnavailable(failure.Connection, 0))
}

// insteadOf lets port do what it does, and answer what another one does.
func insteadOf(port layeredPort, answer ratelimit.LayeredPort) layeredPort {
	return func(ctx context.Context, correct ratelimit.LayeredPort, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
		port(ctx, correct, request)
		return answer.EvaluateLayers(ctx, request)
	}
}

// allowsLevelsForFree answers what would be true, and charges nothing.
func allowsLevelsForFree(ctx context.Context, correct ratelimit.LayeredPort, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	outcome := correct.EvaluateLayers(ctx, tooMuch(request))
	evaluated, decided := outcome.(ratelimit.LayeredEvaluated)
	if !decided {
		return outcome
	}
	for i, asked := range request.Levels() {
		level := &evaluated.Decision.Levels[i]
		level.Allowed, level.RetryAfter, level.Remaining = true, 0, max(0, level.Remaining-asked.Cost)
	}
	return evaluated
}

// tooMuch is a request for the whole quota of a user, who has spent something.
func tooMuch(request ratelimit.LayeredRequest) ratelimit.LayeredRequest {
	var all []ratelimit.Level
	for _, level := range request.Levels() {
		if level.Name == "user" {
			level.Cost = userQuota
		}
		all = append(all, level)
	}
	return layersUnder(request.Root(), all...)
}

// makesLevelsUp is makesUp of what the tenant has spent.
func makesLevelsUp(ctx context.Context, correct ratelimit.LayeredPort, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	outcome := correct.EvaluateLayers(ctx, request)
	if evaluated, decided := outcome.(ratelimit.LayeredEvaluated); decided {
		tenant := &evaluated.Decision.Levels[1]
		tenant.Remaining, tenant.ResetAt, tenant.ResetAfter = tenant.Limit-1, time.Unix(0, 0), 0
		return evaluated
	}
	return outcome
}

func leavesALevelOut(ctx context.Context, correct ratelimit.LayeredPort, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	outcome := correct.EvaluateLayers(ctx, request)
	if evaluated, decided := outcome.(ratelimit.LayeredEvaluated); decided {
		evaluated.Decision.Levels = evaluated.Decision.Levels[1:]
		return evaluated
	}
	return outcome
}
