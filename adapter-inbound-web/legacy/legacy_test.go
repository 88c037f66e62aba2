package legacy_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/legacy"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// unhurried is a deadline where none is tested: a busy machine may stall for longer
// than the default.
const unhurried = time.Minute

// slidingLog is a policy of the algorithm that the local limiter comes closest to.
func slidingLog(t testing.TB, id string, limit int64, window time.Duration) ratelimit.Policy {
	t.Helper()
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID:            id,
		Revision:      1,
		Parameters:    ratelimit.SlidingLog{Limit: limit, Window: window},
		MaxCost:       1,
		FailurePolicy: ratelimit.FailClosed,
	})
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

func catalogOf(t testing.TB, policies ...ratelimit.Policy) *ratelimit.Catalog {
	t.Helper()
	snapshot, err := ratelimit.NewSnapshot(policies...)
	if err != nil {
		t.Fatal(err)
	}
	return ratelimit.NewCatalog(snapshot)
}

func subjectKey(t testing.TB) *pseudonym.Key {
	t.Helper()
	secret, err := pseudonym.NewSecret(bytes.Repeat([]byte("not a secret "), 3))
	if err != nil {
		t.Fatal(err)
	}
	return secret.SubjectKey()
}

func digestOf(t testing.TB, text string) pseudonym.Digest {
	t.Helper()
	subject, err := pseudonym.ParseSubject(text)
	if err != nil {
		t.Fatal(err)
	}
	return subject.Digest(subjectKey(t))
}

// over decides by port, and by policies of which it has to know.
func over(t testing.TB, port ratelimit.LayeredPort, policies ...ratelimit.Policy) legacy.Config {
	t.Helper()
	return legacy.Config{Port: port, Catalog: catalogOf(t, policies...), Pseudonym: subjectKey(t)}
}

// remembered decides by the model, at the time of the test.
func remembered(t testing.TB, policies ...ratelimit.Policy) legacy.Config {
	t.Helper()
	config := over(t, nil, policies...)
	config.Port = ratelimittest.NewMemory(config.Catalog, time.Now)
	config.Deadline = unhurried
	return config
}

func local(t testing.TB) legacy.LocalConfig {
	t.Helper()
	return legacy.LocalConfig{MaxSubjects: 1000, Pseudonym: subjectKey(t)}
}

// text is what an error says, and empty for none.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// portFunc is a port that looks at its context.
type portFunc func(context.Context, ratelimit.LayeredRequest) ratelimit.LayeredOutcome

func (f portFunc) EvaluateLayers(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	return f(ctx, request)
}

// undecided are ports that come to no decision, and what is said of them.
func undecided() []undecidedCase {
	always := func(outcome ratelimit.LayeredOutcome) ratelimit.LayeredPort {
		return ratelimittest.LayeredAnswers(func(ratelimit.LayeredRequest) ratelimit.LayeredOutcome { return outcome })
	}
	return []undecidedCase{
		{"the store is down", ratelimittest.LayeredAlwaysUnavailable(failure.Connection, time.Second),
			failure.Connection, true, "rate limit undecided, nothing was charged: connection"},
		{"the store is not ready", ratelimittest.LayeredAlwaysUnavailable(failure.StoreUnready, time.Second),
			failure.StoreUnready, true, "rate limit undecided, nothing was charged: store-unready"},
		{"the store is full", ratelimittest.LayeredAlwaysUnavailable(failure.StoreFull, 0),
			failure.StoreFull, false, "rate limit undecided, nothing was charged: store-full"},
		{"too many at once", ratelimittest.LayeredAlwaysUnavailable(failure.Saturated, time.Second),
			failure.Saturated, false, "rate limit undecided, nothing was charged: saturated"},
		{"the store does not answer", ratelimittest.LayeredAlwaysIndeterminate(failure.NoReply, time.Second),
			failure.NoReply, true, "rate limit undecided, may have been charged: no-reply"},
		{"the program fails", ratelimittest.LayeredAlwaysIndeterminate(failure.ScriptError, time.Second),
			failure.ScriptError, false, "rate limit undecided, may have been charged: script-error"},
		{"the state is foreign", ratelimittest.LayeredAlwaysIncompatible(failure.State),
			failure.State, false, "rate limit undecided, an operator must act: state"},
		{"the adapter answers nothing", always(nil),
			failure.Protocol, false, "rate limit undecided, an operator must act: protocol"},
		{"the adapter decides no level", always(ratelimit.LayeredEvaluated{}),
			failure.Protocol, false, "rate limit undecided, an operator must act: protocol"},
		{"the adapter decides other levels", ratelimittest.LayeredAnswers(admitsOthers),
			failure.Protocol, false, "rate limit undecided, an operator must act: protocol"},
		{"the adapter answers with a pointer", always(&ratelimit.Unavailable{}),
			failure.Protocol, false, "rate limit undecided, an operator must act: protocol"},
	}
}

// admitsOthers admits as many levels as request has, but others.
func admitsOthers(request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	levels := make([]ratelimit.LevelDecision, request.Len())
	for i, level := range request.Levels() {
		levels[i] = ratelimit.LevelDecision{Level: "other-" + level.Name, Decision: ratelimit.Decision{Allowed: true}}
	}
	return ratelimit.LayeredEvaluated{Decision: ratelimit.LayeredDecision{Levels: levels}}
}

type undecidedCase struct {
	name     string
	port     ratelimit.LayeredPort
	category failure.Category
	gone     bool
	text     string
}

func (u undecidedCase) check(t *testing.T, err error) {
	t.Helper()
	var got legacy.UndecidedError
	if !errors.As(err, &got) {
		t.Fatalf("got %v, want an UndecidedError", err)
	}
	if got.Category() != u.category || got.StoreGone() != u.gone || err.Error() != u.text {
		t.Errorf("got %q, %s, gone %t, want %q, %s, gone %t", err, got.Category(), got.StoreGone(), u.text, u.category, u.gone)
	}
}
