package edge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// counts is a meter that has one counter.
type counts struct {
	noop.Meter

	mu     sync.Mutex
	name   string
	counts map[string]int64 // by "mode category"
}

func (c *counts) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	c.name = name
	return counter{counts: c}, nil
}

type counter struct {
	noop.Int64Counter

	counts *counts
}

// degraded are the counts above zero.
func (c *counts) degraded() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	degraded := maps.Clone(c.counts)
	maps.DeleteFunc(degraded, func(_ string, n int64) bool { return n == 0 })
	return degraded
}

func (c counter) Add(_ context.Context, n int64, options ...metric.AddOption) {
	attributes := metric.NewAddConfig(options).Attributes()
	value := func(key attribute.Key) string {
		value, _ := attributes.Value(key)
		return value.AsString()
	}
	c.counts.mu.Lock()
	defer c.counts.mu.Unlock()
	if c.counts.counts == nil {
		c.counts.counts = make(map[string]int64)
	}
	c.counts.counts[value("mode")+" "+value("category")] += n
}

// foreignLayers has the method that seals LayeredOutcome, by embedding one.
type foreignLayers struct{ ratelimit.LayeredEvaluated }

// treatment is what a mode makes of an outcome.
type treatment int

const (
	refused treatment = iota
	opens
	decidedLocally
)

// Ensure that each mode treats each outcome as its table says, that nothing but a
// failure of the store opens a gate, and that it is told by a header field, a log
// line and a count.
func TestFailureModes(t *testing.T) {
	type byMode struct{ open, local treatment }
	var (
		neither = byMode{refused, refused}
		both    = byMode{opens, decidedLocally}
		local   = byMode{refused, decidedLocally}
	)
	unavailable := func(category failure.Category) ratelimit.LayeredOutcome {
		return ratelimittest.LayeredAlwaysUnavailable(category, time.Second)(ratelimit.LayeredRequest{})
	}
	indeterminate := func(category failure.Category) ratelimit.LayeredOutcome {
		return ratelimittest.LayeredAlwaysIndeterminate(category, time.Second)(ratelimit.LayeredRequest{})
	}
	incompatible := func(category failure.Category) ratelimit.LayeredOutcome {
		return ratelimittest.LayeredAlwaysIncompatible(category)(ratelimit.LayeredRequest{})
	}
	tests := []struct {
		name     string
		category failure.Category
		outcome  ratelimit.LayeredOutcome
		want     byMode
	}{
		{"unavailable", failure.Connection, unavailable(failure.Connection), both},
		{"unavailable", failure.StoreUnready, unavailable(failure.StoreUnready), both},
		{"unavailable", failure.Saturated, unavailable(failure.Saturated), local},
		{"unavailable", failure.ClockUnsafe, unavailable(failure.ClockUnsafe), local},
		{"unavailable", failure.DeadlineTooShort, unavailable(failure.DeadlineTooShort), neither},
		{"unavailable", failure.Cancelled, unavailable(failure.Cancelled), neither},
		{"unavailable", failure.InvalidRequest, unavailable(failure.InvalidRequest), neither},
		{"unavailable", failure.StoreFull, unavailable(failure.StoreFull), neither},
		{"unavailable", failure.Unsupported, unavailable(failure.Unsupported), neither},
		{"unavailable", failure.ShuttingDown, unavailable(failure.ShuttingDown), neither},
		{"unavailable", failure.AccessDenied, unavailable(failure.AccessDenied), neither},
		{"unavailable", failure.NoReply, unavailable(failure.NoReply), neither},
		{"unavailable", "", unavailable(""), neither},
		{"unavailable", "new", unavailable("new"), neither},
		{"indeterminate", failure.NoReply, indeterminate(failure.NoReply), both},
		{"indeterminate", failure.ScriptError, indeterminate(failure.ScriptError), neither},
		{"indeterminate", failure.AccessDenied, indeterminate(failure.AccessDenied), neither},
		{"indeterminate", failure.Connection, indeterminate(failure.Connection), neither},
		{"incompatible", failure.UnknownPolicy, incompatible(failure.UnknownPolicy), neither},
		{"incompatible", failure.State, incompatible(failure.State), neither},
		{"incompatible", failure.Protocol, incompatible(failure.Protocol), neither},
		{"incompatible", failure.Connection, incompatible(failure.Connection), neither},
		{"nil", failure.Protocol, nil, neither},
		{"a pointer", failure.Protocol, &ratelimit.Unavailable{Unavailable: failure.Unavailable{Category: failure.Connection}}, neither},
		{"foreign", failure.Protocol, foreignLayers{}, neither},
		{"no levels", failure.Protocol, ratelimit.LayeredEvaluated{}, neither},
	}
	for _, test := range tests {
		for mode, want := range map[edge.FailureMode]treatment{
			edge.FailClosed: refused, edge.FailOpen: test.want.open, "": test.want.open, edge.LocalFallback: test.want.local,
		} {
			t.Run(fmt.Sprintf("%s %s, mode %s", test.name, test.category, mode), func(t *testing.T) {
				var log bytes.Buffer
				config, _, _ := newLayersConfig(t)
				meter := new(counts)
				config.Meter, config.Logger = meter, slog.New(slog.NewJSONHandler(&log, nil))
				config.Layers.Port = ratelimittest.LayeredAnswers(func(ratelimit.LayeredRequest) ratelimit.LayeredOutcome { return test.outcome })
				config.Layers.FailureMode = mode
				w := serve(newEdge(t, config)(done), by("a", "o", "/"))
				checkTreatment(t, w, want)
				wantMode := map[treatment]string{refused: "", opens: "fail-open", decidedLocally: "local-fallback"}[want]
				checkTold(t, w, log.String(), meter, wantMode, test.category)
			})
		}
	}
}

func checkTreatment(t *testing.T, w *httptest.ResponseRecorder, want treatment) {
	t.Helper()
	got := fmt.Sprintf("%d %t %s", w.Code, strings.Contains(w.Body.String(), "done"), w.Header().Get("RateLimit"))
	if want := map[treatment]string{
		refused:        "503 false ",
		opens:          "200 true ",
		decidedLocally: `200 true "tight";r=4;t=60, "standard";r=99;t=60, "heavy";r=999;t=60`,
	}[want]; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if want != decidedLocally {
		for name := range w.Header() {
			if strings.Contains(name, "Ratelimit") {
				t.Errorf("there is a field %s", name)
			}
		}
	}
}

// checkTold wants mode told in every way, or in none if it is empty.
func checkTold(t *testing.T, w *httptest.ResponseRecorder, log string, meter *counts, mode string, category failure.Category) {
	t.Helper()
	if got := w.Header().Get("Weir-Degraded"); got != mode {
		t.Errorf("Weir-Degraded is %q, want %q", got, mode)
	}
	wantCounts := map[string]int64{}
	if mode != "" {
		wantCounts[mode+" "+string(category)] = 1
	}
	if meter.name != "weir.edge.degraded" || !maps.Equal(meter.degraded(), wantCounts) {
		t.Errorf("%s counted %v, want %v", meter.name, meter.degraded(), wantCounts)
	}
	var line struct{ Level, Mode, Category string }
	if err := json.Unmarshal([]byte(log), &line); err != nil { // one line, so one document
		t.Fatalf("%s: %v", log, err)
	}
	if line.Mode != mode || line.Category != string(category) || mode != "" && line.Level != "WARN" {
		t.Errorf("logged %s", log)
	}
}

// Ensure that what a mode covers is counted from zero, so that whoever watches the
// counter sees the first request of an outage, and that nothing else is.
func TestDegradationsAreCountedFromZero(t *testing.T) {
	for mode, want := range map[edge.FailureMode]map[string]int64{
		edge.FailClosed: nil,
		edge.FailOpen:   {"fail-open connection": 0, "fail-open store-unready": 0, "fail-open no-reply": 0},
		"":              {"fail-open connection": 0, "fail-open store-unready": 0, "fail-open no-reply": 0},
		edge.LocalFallback: {
			"local-fallback connection": 0, "local-fallback store-unready": 0, "local-fallback no-reply": 0,
			"local-fallback saturated": 0, "local-fallback clock-unsafe": 0,
		},
	} {
		config, _, _ := newLayersConfig(t)
		meter := new(counts)
		config.Meter, config.Layers.FailureMode = meter, mode
		newEdge(t, config)
		if !maps.Equal(meter.counts, want) {
			t.Errorf("mode %q: counted %v, want %v", mode, meter.counts, want)
		}
	}
}

// brokenMeter makes no counters.
type brokenMeter struct{ noop.Meter }

func (brokenMeter) Int64Counter(string, ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return nil, errors.New("no counters here")
}

// Ensure that an edge that could not count what its failure mode hides is not made.
func TestNewNeedsItsCounter(t *testing.T) {
	config, _, _ := newLayersConfig(t)
	config.Meter = brokenMeter{}
	if _, err := edge.New(config); err == nil || err.Error() != "meter: no counters here" {
		t.Errorf("got %v", err)
	}
}

// Ensure that a client that has gone opens no gate, whether it left before the
// call or on its way, and even if its own deadline made it go.
func TestHangingUpOpensNoGate(t *testing.T) {
	noReply := ratelimittest.LayeredAlwaysIndeterminate(failure.NoReply, 0)
	for _, mode := range []edge.FailureMode{edge.FailOpen, edge.LocalFallback} {
		tests := map[string]func(context.Context) (context.Context, context.CancelFunc, ratelimit.LayeredPort){
			"before": func(ctx context.Context) (context.Context, context.CancelFunc, ratelimit.LayeredPort) {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return ctx, cancel, noReply
			},
			"on its way": func(ctx context.Context) (context.Context, context.CancelFunc, ratelimit.LayeredPort) {
				ctx, cancel := context.WithCancel(ctx)
				return ctx, cancel, layeredFunc(func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
					cancel()
					<-ctx.Done()
					return noReply(request)
				})
			},
			"late": func(ctx context.Context) (context.Context, context.CancelFunc, ratelimit.LayeredPort) {
				ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
				return ctx, cancel, layeredFunc(func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
					<-ctx.Done()
					return noReply(request)
				})
			},
		}
		for name, leave := range tests {
			t.Run(fmt.Sprintf("%s, mode %s", name, mode), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					config, _, _ := newLayersConfig(t)
					meter := new(counts)
					config.Meter, config.Layers.FailureMode = meter, mode
					ctx, cancel, port := leave(t.Context())
					defer cancel()
					config.Layers.Port = port
					w := serve(newEdge(t, config)(done), by("a", "o", "/").WithContext(ctx))
					checkTreatment(t, w, refused)
					if len(meter.degraded()) > 0 || w.Header().Get("Weir-Degraded") != "" {
						t.Errorf("counted %v, header %v", meter.counts, w.Header())
					}
				})
			})
		}
	}
}

// Ensure that a store which is too slow for the edge's own deadline is a failure of
// the store, and opens the gate.
func TestSlowStoreOpensTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, _, _ := newLayersConfig(t)
		config.Layers.Port = layeredFunc(func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
			<-ctx.Done()
			return ratelimittest.LayeredAlwaysIndeterminate(failure.NoReply, 0)(request)
		})
		checkTreatment(t, serve(newEdge(t, config)(done), by("a", "o", "/")), opens)
	})
}

// Ensure that what fail-open let pass is not decided by another edge behind it, and
// that handlers see no decision.
func TestFailOpenMountedTwice(t *testing.T) {
	outer, _, _ := newLayersConfig(t)
	outer.Layers.Port = ratelimittest.LayeredAlwaysUnavailable(failure.Connection, 0)
	inner, layered, single := newLayersConfig(t)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := edge.DecisionFrom(r.Context()); ok {
			t.Error("there is a decision")
		}
		if _, ok := edge.LayeredDecisionFrom(r.Context()); ok {
			t.Error("there is a decision of levels")
		}
		done(w, r)
	})
	checkTreatment(t, serve(newEdge(t, outer)(newEdge(t, inner)(handler)), by("a", "o", "/")), opens)
	if len(layered.Requests()) > 0 || len(single.Requests()) > 0 {
		t.Error("the inner ports were asked")
	}
}

// Ensure that only layers have a failure mode: the default policy and the policies
// of routes are refused when they cannot be decided.
func TestFailureModeIsForLayersAlone(t *testing.T) {
	config, _, _ := newLayersConfig(t, edge.Route{Pattern: "/own", Policy: "heavy"})
	config.Port = ratelimittest.AlwaysUnavailable(failure.Connection, 0)
	handler := newEdge(t, config)(done)
	checkTreatment(t, serve(handler, by("", "", "/")), refused)
	checkTreatment(t, serve(handler, by("a", "o", "/own")), refused)
}

// Ensure that an outage leaves one line per second for each category, and that each
// line says how many it stands for and nothing of who asks.
func TestFailureModesDoNotFloodTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		config, _, _ := newLayersConfig(t)
		config.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		category := failure.Connection
		config.Layers.Port = ratelimittest.LayeredAnswers(func(request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
			return ratelimittest.LayeredAlwaysUnavailable(category, 0)(request)
		})
		handler := newEdge(t, config)(done)
		fail := func(times int) {
			for range times {
				serve(handler, by("agent-of-somebody", "org-of-somebody", "/path-of-somebody"))
			}
		}
		fail(1000)
		category = failure.StoreUnready
		fail(1)
		<-time.After(time.Second)
		category = failure.Connection
		fail(2)
		var got []string
		for line := range strings.Lines(log.String()) {
			var entry struct {
				Mode, Category string
				Suppressed     int
			}
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(entry.Mode, " ", entry.Category, " ", entry.Suppressed))
		}
		if want := []string{"fail-open connection 0", "fail-open store-unready 0", "fail-open connection 999"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if strings.Contains(log.String(), "of-somebody") {
			t.Errorf("the log tells who asks: %s", log.String())
		}
	})
}

// newFallbackConfig decides all of its layers locally.
func newFallbackConfig(t testing.TB, replicas int, routes ...edge.Route) edge.Config {
	t.Helper()
	config, _, _ := newLayersConfig(t, routes...)
	config.Layers.Port = ratelimittest.LayeredAlwaysUnavailable(failure.Connection, 0)
	config.Layers.FailureMode, config.Layers.Replicas = edge.LocalFallback, replicas
	return config
}

// Ensure that each process enforces its share of the limits, rounded up, in the
// policy's window, and that a denial looks like one of the store.
func TestLocalFallbackEnforcesItsShare(t *testing.T) {
	for replicas, share := range map[int]int{0: 5, 1: 5, 2: 3, 4: 2, 5: 1, 50: 1} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				handler := newEdge(t, newFallbackConfig(t, replicas))(done)
				for range 3 {
					for i := range share {
						w := serve(handler, by("a", "o", "/"))
						if want := fmt.Sprintf(`"tight";r=%d;t=60`, share-1-i); w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("RateLimit"), want) {
							t.Fatalf("request %d: got %d %s, want %s", i, w.Code, w.Header().Get("RateLimit"), want)
						}
					}
					w := serve(handler, by("a", "o", "/"))
					if w.Code != http.StatusTooManyRequests || w.Header().Get("Weir-Degraded") != "local-fallback" || w.Header().Get("Retry-After") != "60" ||
						!strings.Contains(w.Body.String(), `"refusedBy":["agent"]`) {
						t.Fatalf("got %d %v %s, want a local denial by agent", w.Code, w.Header(), w.Body)
					}
					if want := fmt.Sprintf(`"tight";q=%d;w=60`, share); !strings.HasPrefix(w.Header().Get("RateLimit-Policy"), want) {
						t.Fatalf("the policy is %s, want %s", w.Header().Get("RateLimit-Policy"), want)
					}
					<-time.After(time.Minute + time.Second)
				}
			})
		})
	}
}

// Ensure that a decision of the fallback says that this process made it.
func TestLocalFallbackSource(t *testing.T) {
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		decision, ok := edge.LayeredDecisionFrom(r.Context())
		if !ok || len(decision.Levels) != 3 {
			t.Fatalf("got %+v", decision)
		}
		for i, level := range decision.Levels {
			if want := []string{"agent", "org", "everybody"}[i]; level.Level != want || level.Source != edge.LocalProcess {
				t.Errorf("level %d is %s by %s, want %s by this process", i, level.Level, level.Source, want)
			}
		}
	})
	serve(newEdge(t, newFallbackConfig(t, 0))(handler), by("a", "o", "/"))
}

// Ensure that the fallback counts what the store counts: levels apart for each
// root, shared ones for all, by cost, and nothing on a denial.
func TestLocalFallbackCountsAsTheStore(t *testing.T) {
	steps := []struct {
		agent, org, path string
		code             int
		limit            string
	}{
		{"a", "o", "/", http.StatusOK, `"tight";r=4;t=60, "standard";r=99;t=60, "heavy";r=999;t=60`},
		{"a", "p", "/", http.StatusOK, `"tight";r=4;t=60, "standard";r=99;t=60, "heavy";r=998;t=60`},
		{"b", "o", "/costly", http.StatusOK, `"tight";r=3;t=60, "standard";r=97;t=60, "heavy";r=996;t=60`},
		{"b", "o", "/costly", http.StatusOK, `"tight";r=1;t=60, "standard";r=95;t=60, "heavy";r=994;t=60`},
		{"b", "o", "/costly", http.StatusTooManyRequests, `"tight";r=1;t=60, "standard";r=95;t=60, "heavy";r=994;t=60`},
		{"a", "o", "/", http.StatusOK, `"tight";r=3;t=60, "standard";r=94;t=60, "heavy";r=993;t=60`},
	}
	routes := []edge.Route{{Pattern: "/costly", Cost: 2}}
	store, _, _ := newLayersConfig(t, routes...)
	for name, config := range map[string]edge.Config{"store": store, "fallback": newFallbackConfig(t, 1, routes...)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				handler := newEdge(t, config)(done)
				for i, step := range steps {
					w := serve(handler, by(step.agent, step.org, step.path))
					if got := w.Header().Get("RateLimit"); w.Code != step.code || got != step.limit {
						t.Errorf("step %d: got %d %s, want %d %s", i, w.Code, got, step.code, step.limit)
					}
				}
			})
		})
	}
}

// Ensure that a request that costs more than this process's share is refused as
// undecided, for the client has not used up anything, and that it charges nothing.
func TestLocalFallbackRefusesCostsAboveItsShare(t *testing.T) {
	config := newFallbackConfig(t, 5, edge.Route{Pattern: "/costly", Cost: 2})
	meter := new(counts)
	config.Meter = meter
	handler := newEdge(t, config)(done)
	w := serve(handler, by("a", "o", "/costly"))
	checkTreatment(t, w, refused)
	if w.Header().Get("Weir-Degraded") != "" || len(meter.degraded()) > 0 {
		t.Errorf("it is told as degraded: %v, %v", w.Header(), meter.counts)
	}
	if w := serve(handler, by("a", "o", "/")); w.Header().Get("X-RateLimit-Remaining") != "0" || w.Code != http.StatusOK {
		t.Errorf("got %d with %s left, want the whole share of one", w.Code, w.Header().Get("X-RateLimit-Remaining"))
	}
}

// Ensure that the fallback goes by the policies in force: by overrides, and not by
// a policy that is gone.
func TestLocalFallbackFollowsTheCatalog(t *testing.T) {
	config := newFallbackConfig(t, 2)
	handler := newEdge(t, config)(done)
	base := config.Catalog.Current()
	own, err := base.WithOverrides(ratelimit.Override{PolicyID: "tight", Subject: headerDigest(t, "X-Agent", "a"), Limit: 40})
	if err != nil {
		t.Fatal(err)
	}
	config.Catalog.Replace(own)
	for agent, want := range map[string]string{"a": `"tight";q=20;w=60`, "b": `"tight";q=3;w=60`} {
		if got := serve(handler, by(agent, "o", "/")).Header().Get("RateLimit-Policy"); !strings.HasPrefix(got, want) {
			t.Errorf("%s has %s, want %s", agent, got, want)
		}
	}
	config.Catalog.Replace(nil)
	checkTreatment(t, serve(handler, by("a", "o", "/")), refused)
}

// Ensure that policies that the local limiter cannot have as they are have shares
// within its bounds, and that a bucket is a window of the time that it takes to fill.
func TestLocalFallbackBounds(t *testing.T) {
	tests := map[string]struct {
		parameters ratelimit.Parameters
		override   int64
		want       string
	}{
		"the longest window":       {ratelimit.FixedWindow{Limit: 1, Window: ratelimit.MaxWindow}, 0, `"bound";q=1;w=2678400`},
		"the largest limit":        {ratelimit.FixedWindow{Limit: ratelimit.MaxQuota, Window: time.Second}, 0, `"bound";q=1000000000;w=1`},
		"a bucket":                 {ratelimit.TokenBucket{Capacity: 30, RefillTokens: 3, RefillInterval: time.Second}, 0, `"bound";q=30;w=10`},
		"a bucket of one's own":    {ratelimit.TokenBucket{Capacity: 30, RefillTokens: 3, RefillInterval: time.Second}, 60, `"bound";q=60;w=20`},
		"a bucket with a fraction": {ratelimit.TokenBucket{Capacity: 10, RefillTokens: 3, RefillInterval: time.Second}, 0, `"bound";q=10`},
		"a sliding log":            {ratelimit.SlidingLog{Limit: 7, Window: time.Minute}, 0, `"bound";q=7;w=60`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
				ID: "bound", Revision: 1, Parameters: test.parameters, MaxCost: 1, FailurePolicy: ratelimit.FailClosed,
			})
			if err != nil {
				t.Fatal(err)
			}
			snapshot, err := ratelimit.NewSnapshot(policy, newPolicy(t, "anonymous", 2, 2))
			if err != nil {
				t.Fatal(err)
			}
			config := newFallbackConfig(t, 0)
			config.Layers.Levels = []edge.Level{{Name: "org", Policy: "bound", Subject: byHeader(t, "X-Org")}}
			config.Catalog = ratelimit.NewCatalog(snapshot)
			handler := newEdge(t, config)(done)
			// Somebody with the common quota comes first.
			serve(handler, by("a", "other", "/"))
			if test.override > 0 {
				own, err := snapshot.WithOverrides(ratelimit.Override{PolicyID: "bound", Subject: headerDigest(t, "X-Org", "o"), Limit: test.override})
				if err != nil {
					t.Fatal(err)
				}
				config.Catalog.Replace(own)
			}
			w := serve(handler, by("a", "o", "/"))
			if got := w.Header().Get("RateLimit-Policy"); w.Code != http.StatusOK || got != test.want {
				t.Errorf("got %d %s, want %s", w.Code, got, test.want)
			}
		})
	}
}

// Ensure that edges with one fallback count together, and others apart.
func TestEdgesOverOneFallback(t *testing.T) {
	shared, err := edge.NewFallback()
	if err != nil {
		t.Fatal(err)
	}
	one, other, apart := newFallbackConfig(t, 5), newFallbackConfig(t, 5), newFallbackConfig(t, 5)
	one.Layers.Fallback, other.Layers.Fallback = shared, shared
	for i, step := range []struct {
		config edge.Config
		code   int
	}{{one, http.StatusOK}, {other, http.StatusTooManyRequests}, {apart, http.StatusOK}} {
		if w := serve(newEdge(t, step.config)(done), by("a", "o", "/")); w.Code != step.code {
			t.Errorf("edge %d answers %d, want %d", i, w.Code, step.code)
		}
	}
}

// Ensure that the store decides again as soon as it can.
func TestLocalFallbackEnds(t *testing.T) {
	config, memory, _ := newLayersConfig(t)
	down := false
	config.Layers.Port = layeredFunc(func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
		if down {
			return ratelimittest.LayeredAlwaysUnavailable(failure.Connection, 0)(request)
		}
		return memory.EvaluateLayers(ctx, request)
	})
	config.Layers.FailureMode = edge.LocalFallback
	handler := newEdge(t, config)(done)
	for i, step := range []struct {
		down      bool
		remaining string
	}{{false, "4"}, {true, "4"}, {true, "3"}, {false, "3"}} {
		down = step.down
		w := serve(handler, by("a", "o", "/"))
		if got := w.Header().Get("X-RateLimit-Remaining"); got != step.remaining || (w.Header().Get("Weir-Degraded") != "") != step.down {
			t.Errorf("step %d: %s left, header %v, want %s", i, got, w.Header(), step.remaining)
		}
	}
}

// Ensure that a client that says it is degraded is not believed.
func TestClientsAreNotDegraded(t *testing.T) {
	config, _, _ := newLayersConfig(t)
	handler := newEdge(t, config)(done)
	for range 6 {
		r := by("a", "o", "/")
		r.Header.Set("Weir-Degraded", "fail-open")
		if w := serve(handler, r); w.Header().Get("Weir-Degraded") != "" {
			t.Errorf("the answer has %v", w.Header())
		}
	}
	if w := serve(handler, by("a", "o", "/")); w.Code != http.StatusTooManyRequests {
		t.Errorf("got %d, want 429", w.Code)
	}
}
