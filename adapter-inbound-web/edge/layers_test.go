package edge_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// newLayersConfig is complete, as newConfig is, and has the levels "agent" (policy
// "tight", header X-Agent), "org" (policy "standard", header X-Org) and "everybody"
// (policy "heavy", shared), in front of the default policy "anonymous" (2 per
// minute). Both recorders ask one model.
func newLayersConfig(t testing.TB, routes ...edge.Route) (edge.Config, *ratelimittest.LayeredRecorder, *ratelimittest.Recorder) {
	t.Helper()
	snapshot, err := ratelimit.NewSnapshot(append(newCatalog(t).Current().Policies(), newPolicy(t, "anonymous", 2, 2))...)
	if err != nil {
		t.Fatal(err)
	}
	catalog := ratelimit.NewCatalog(snapshot)
	start := time.Unix(1_800_000_000, 0)
	memory := ratelimittest.NewMemory(catalog, func() time.Time { return start })
	layered, single := &ratelimittest.LayeredRecorder{Next: memory}, &ratelimittest.Recorder{Next: memory}
	return edge.Config{
		Port:          single,
		Catalog:       catalog,
		Pseudonym:     newKey(t),
		DefaultPolicy: "anonymous",
		Routes:        routes,
		Deadline:      unhurried,
		Layers: &edge.Layers{Port: layered, Levels: []edge.Level{
			{Name: "agent", Policy: "tight", Subject: byHeader(t, "X-Agent")},
			{Name: "org", Policy: "standard", Subject: byHeader(t, "X-Org")},
			{Name: "everybody", Policy: "heavy", Subject: subject.Fixed(parse(t, "everybody")), Shared: true},
		}},
	}, layered, single
}

func byHeader(t testing.TB, name string) *subject.Extractor {
	t.Helper()
	extractor, err := subject.New(subject.Config{Source: "header:" + name})
	if err != nil {
		t.Fatal(err)
	}
	return extractor
}

func parse(t testing.TB, text string) pseudonym.Subject {
	t.Helper()
	who, err := pseudonym.ParseSubject(text)
	if err != nil {
		t.Fatal(err)
	}
	return who
}

func headerDigest(t testing.TB, name, value string) pseudonym.Digest {
	t.Helper()
	who, err := pseudonym.Header(name, value)
	if err != nil {
		t.Fatal(err)
	}
	return who.Digest(newKey(t))
}

// by is a request of an agent of an organisation. An empty name is left out.
func by(agent, org, path string) *http.Request {
	r := get(path)
	for name, value := range map[string]string{"X-Agent": agent, "X-Org": org} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	return r
}

// layeredCharges are "level policy cost" for each level of each request that port
// was asked to decide.
func layeredCharges(port *ratelimittest.LayeredRecorder) []string {
	texts := []string{}
	for _, request := range port.Requests() {
		for _, level := range request.Levels() {
			texts = append(texts, fmt.Sprintf("%s %s %d", level.Name, level.PolicyID, level.Cost))
		}
	}
	return texts
}

// Ensure that a request is charged at every level or at none, that a denial names
// the levels that refuse, and that another organisation is unaffected.
func TestEdgeLayers(t *testing.T) {
	config, _, single := newLayersConfig(t)
	handler := newEdge(t, config)(done)
	for i := range 5 {
		w := serve(handler, by("a", "o", "/"))
		want := fmt.Sprintf(`"tight";r=%d;t=60, "standard";r=%d;t=60, "heavy";r=%d;t=60`, 4-i, 99-i, 999-i)
		if got := w.Header().Get("RateLimit"); w.Code != http.StatusOK || w.Body.String() != "done" || got != want {
			t.Fatalf("request %d: %d %s %s, want 200, done and %s", i, w.Code, w.Body, got, want)
		}
		if got, want := w.Header().Get("X-RateLimit-Remaining"), fmt.Sprint(4-i); got != want {
			t.Fatalf("request %d: X-RateLimit-Remaining is %s, want %s", i, got, want)
		}
	}
	w := serve(handler, by("a", "o", "/"))
	if want := `"tight";r=0;t=60, "standard";r=95;t=60, "heavy";r=995;t=60`; w.Header().Get("RateLimit") != want {
		t.Errorf("a denial has %s, want %s", w.Header().Get("RateLimit"), want)
	}
	if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), `"refusedBy":["agent"]`) || strings.Contains(w.Body.String(), "done") {
		t.Errorf("got %d %s, want a denial by agent alone", w.Code, w.Body)
	}
	if want := `"tight";r=4;t=60, "standard";r=94;t=60, "heavy";r=994;t=60`; serve(handler, by("b", "o", "/")).Header().Get("RateLimit") != want {
		t.Errorf("another agent does not get %s", want)
	}
	if want := `"tight";r=4;t=60, "standard";r=99;t=60, "heavy";r=993;t=60`; serve(handler, by("a", "p", "/")).Header().Get("RateLimit") != want {
		t.Errorf("another organisation does not get %s", want)
	}
	if got := charges(single); len(got) > 0 {
		t.Errorf("%v was charged besides", got)
	}
}

// Ensure that a request that lacks an identity is decided by the default policy
// alone, and that one which cannot be told apart is refused.
func TestEdgeLayersAnonymous(t *testing.T) {
	twice := by("", "o", "/")
	twice.Header["X-Agent"] = []string{"a", "b"}
	nowhere := get("/")
	nowhere.RemoteAddr = "@"
	tests := map[string]struct {
		request *http.Request
		status  int
		charged []string
	}{
		"no agent":      {by("", "o", "/"), http.StatusOK, []string{"anonymous 1"}},
		"no org":        {by("a", "", "/"), http.StatusOK, []string{"anonymous 1"}},
		"neither":       {by("", "", "/"), http.StatusOK, []string{"anonymous 1"}},
		"two agents":    {twice, http.StatusOK, []string{"anonymous 1"}},
		"a long org":    {by("a", strings.Repeat("o", 2000), "/"), http.StatusOK, []string{"anonymous 1"}},
		"costly":        {by("", "", "/costly"), http.StatusOK, []string{"anonymous 2"}},
		"nobody at all": {nowhere, http.StatusBadRequest, []string{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config, layered, single := newLayersConfig(t, edge.Route{Pattern: "/costly", Cost: 2})
			if w := serve(newEdge(t, config)(done), test.request); w.Code != test.status {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, test.status)
			}
			if got := charges(single); !slices.Equal(got, test.charged) {
				t.Errorf("the default policy was charged %v, want %v", got, test.charged)
			}
			if got := layeredCharges(layered); len(got) > 0 {
				t.Errorf("the levels were charged %v", got)
			}
		})
	}
}

// Ensure that a request without an address is refused, and not taken for an
// anonymous one, where a level goes by the address.
func TestEdgeLayersNeedAnAddress(t *testing.T) {
	config, layered, single := newLayersConfig(t)
	config.Layers.Levels[0].Subject = new(subject.Extractor)
	config.Subject = byHeader(t, "X-Org")
	r := by("", "o", "/")
	r.RemoteAddr = "@"
	if w := serve(newEdge(t, config)(done), r); w.Code != http.StatusBadRequest {
		t.Errorf("got %d, want 400", w.Code)
	}
	if len(layered.Requests()) > 0 || len(single.Requests()) > 0 {
		t.Error("something was charged")
	}
}

// Ensure that layers stand in for the default policy alone, at the cost of the
// route, and that the dearest reading of a path counts.
func TestEdgeLayersAndRoutes(t *testing.T) {
	routes := []edge.Route{
		{Pattern: "/costly", Cost: 2},
		{Pattern: "/own", Policy: "heavy", Cost: 3},
		{Pattern: "/default-by-name", Policy: "anonymous"},
		{Pattern: "/health", Exempt: true},
		{Pattern: "/a/b", Policy: "standard", Cost: 1},
	}
	levels := func(cost int) []string {
		return []string{fmt.Sprintf("agent tight %d", cost), fmt.Sprintf("org standard %d", cost), fmt.Sprintf("everybody heavy %d", cost)}
	}
	preflight := by("a", "o", "/costly")
	preflight.Method = http.MethodOptions
	preflight.Header.Set("Origin", "https://example.org")
	preflight.Header.Set("Access-Control-Request-Method", http.MethodPost)
	tests := map[string]struct {
		request *http.Request
		layered []string
		single  []string
	}{
		"no route":                    {by("a", "o", "/"), levels(1), nil},
		"a route with a cost":         {by("a", "o", "/costly"), levels(2), nil},
		"a route with a policy":       {by("a", "o", "/own"), nil, []string{"heavy 3"}},
		"a route that names default":  {by("a", "o", "/default-by-name"), nil, []string{"anonymous 1"}},
		"an exempt route":             {by("a", "o", "/health"), nil, nil},
		"a preflight":                 {preflight, nil, nil},
		"a path that reads as layers": {by("a", "o", "/a%2fb"), levels(1), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config, layered, single := newLayersConfig(t, routes...)
			if w := serve(newEdge(t, config)(done), test.request); w.Code != http.StatusOK {
				t.Errorf("got %d, want 200", w.Code)
			}
			if got := layeredCharges(layered); !slices.Equal(got, test.layered) {
				t.Errorf("the levels were charged %v, want %v", got, test.layered)
			}
			if got := charges(single); !slices.Equal(got, test.single) {
				t.Errorf("policies were charged %v, want %v", got, test.single)
			}
		})
	}
}

// Ensure that a path of several readings is charged for the one that is dearest to
// whoever asks: at the levels if all identities are there, and under the default
// policy if one is missing. So nobody slips past the policy of a route.
func TestEdgeLayersChargeTheDearestReading(t *testing.T) {
	const reads = "/quotes/1%2Fcalculate" // as the route's path, and as one that no route has
	generous := func(c *edge.Config) { c.DefaultPolicy = "heavy" }
	strict := func(c *edge.Config) {
		c.DefaultPolicy = "tight"
		c.Layers.Levels = []edge.Level{{Name: "agent", Policy: "heavy", Subject: byHeader(t, "X-Agent")}}
	}
	slashed := func(c *edge.Config) {
		generous(c)
		c.Routes = append(c.Routes, edge.Route{Pattern: "/quotes/{id}/calculate/", Cost: 2})
	}
	tests := map[string]struct {
		change  func(*edge.Config)
		request *http.Request
		layered []string
		single  []string
	}{
		"generous default, identified":     {generous, by("a", "o", reads), []string{"agent tight 1", "org standard 1", "everybody heavy 1"}, nil},
		"generous default, anonymous":      {generous, by("", "", reads), nil, []string{"standard 1"}},
		"generous default, one is missing": {generous, by("", "o", reads), nil, []string{"standard 1"}},
		"generous default, plain":          {generous, by("", "", "/quotes/1/calculate"), nil, []string{"standard 1"}},
		"strict default, identified":       {strict, by("a", "", reads), nil, []string{"standard 1"}},
		"strict default, anonymous":        {strict, by("", "", reads), nil, []string{"tight 1"}},
		"slash at the end, identified":     {slashed, by("a", "o", "/quotes/1/calculate"), []string{"agent tight 2", "org standard 2", "everybody heavy 2"}, nil},
		"slash at the end, anonymous":      {slashed, by("", "", "/quotes/1/calculate/"), nil, []string{"standard 1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config, layered, single := newLayersConfig(t, edge.Route{Pattern: "/quotes/{id}/calculate", Policy: "standard"})
			test.change(&config)
			if w := serve(newEdge(t, config)(done), test.request); w.Code != http.StatusOK {
				t.Errorf("got %d, want 200", w.Code)
			}
			if got := layeredCharges(layered); !slices.Equal(got, test.layered) {
				t.Errorf("the levels were charged %v, want %v", got, test.layered)
			}
			if got := charges(single); !slices.Equal(got, test.single) {
				t.Errorf("policies were charged %v, want %v", got, test.single)
			}
		})
	}
}

// Ensure that no failure mode treats a request of which another reading comes under
// the policy of a route, which has none.
func TestEdgeLayersReadInTwoWaysFailClosed(t *testing.T) {
	for _, mode := range []edge.FailureMode{edge.FailOpen, edge.LocalFallback} {
		for path, want := range map[string]int{
			"/":                     http.StatusOK,
			"/other%2Fpath":         http.StatusOK,
			"/quotes/1%2Fcalculate": http.StatusServiceUnavailable,
		} {
			config, _, _ := newLayersConfig(t, edge.Route{Pattern: "/quotes/{id}/calculate", Policy: "standard"})
			config.DefaultPolicy, config.Layers.FailureMode = "heavy", mode
			config.Layers.Port = ratelimittest.LayeredAlwaysUnavailable(failure.Connection, 0)
			if w := serve(newEdge(t, config)(done), by("a", "o", path)); w.Code != want {
				t.Errorf("%s: %s is answered %d, must be %d", mode, path, w.Code, want)
			}
		}
	}
}

// Ensure that a level whose policy is gone is nothing to those who lack an identity:
// their request is charged for the route that its path may mean.
func TestEdgeLayersWithoutAPolicy(t *testing.T) {
	config, layered, single := newLayersConfig(t, edge.Route{Pattern: "/quotes/{id}/calculate", Policy: "standard"})
	config.DefaultPolicy = "heavy"
	handler := newEdge(t, config)(done)
	left, err := ratelimit.NewSnapshot(newPolicy(t, "standard", 100, 10), newPolicy(t, "heavy", 1000, 100))
	if err != nil {
		t.Fatal(err)
	}
	config.Catalog.Replace(left)
	if w := serve(handler, by("", "", "/quotes/1%2Fcalculate")); w.Code != http.StatusOK {
		t.Errorf("got %d, want 200", w.Code)
	}
	if got := charges(single); !slices.Equal(got, []string{"standard 1"}) || len(layered.Requests()) > 0 {
		t.Errorf("policies were charged %v, want that of the route alone", got)
	}
	checkTreatment(t, serve(handler, by("a", "o", "/quotes/1%2Fcalculate")), refused)
}

// Ensure that levels belong to the subject of the root, which is the last level
// that is not shared unless another is named, and that subjects are digested as
// everywhere.
func TestEdgeLayersRoot(t *testing.T) {
	agent, org := headerDigest(t, "X-Agent", "a"), headerDigest(t, "X-Org", "o")
	everybody := parse(t, "everybody").Digest(newKey(t))
	tests := map[string]struct {
		change func(*edge.Layers)
		want   pseudonym.Digest
	}{
		"the last that is not shared": {func(*edge.Layers) {}, org},
		"named":                       {func(l *edge.Layers) { l.Root = "agent" }, agent},
		"a shared one, named":         {func(l *edge.Layers) { l.Root = "everybody" }, everybody},
		"all shared": {func(l *edge.Layers) {
			for i := range l.Levels {
				l.Levels[i].Shared = true
			}
		}, everybody},
		"none shared": {func(l *edge.Layers) { l.Levels[2].Shared = false }, everybody},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config, layered, _ := newLayersConfig(t)
			test.change(config.Layers)
			serve(newEdge(t, config)(done), by("a", "o", "/"))
			request := layered.Requests()[0]
			if request.Root() != test.want {
				t.Errorf("the root is %x, want %x", request.Root(), test.want)
			}
			want := []pseudonym.Digest{agent, org, everybody}
			for i, level := range request.Levels() {
				if given := config.Layers.Levels[i]; level.Subject != want[i] || level.Shared != given.Shared || level.Limit != 0 {
					t.Errorf("level %d is %+v", i, level)
				}
			}
		})
	}
}

type layeredFunc func(context.Context, ratelimit.LayeredRequest) ratelimit.LayeredOutcome

func (f layeredFunc) EvaluateLayers(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
	return f(ctx, request)
}

// Ensure that the port of layers gets the edge's deadline.
func TestEdgeLayersDeadline(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{0: edge.DefaultDeadline, time.Second: time.Second} {
		t.Run(want.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config, memory, _ := newLayersConfig(t)
				config.Deadline = given
				config.Layers.Port = layeredFunc(func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
					if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) != want {
						t.Errorf("deadline is in %v, want %v", time.Until(deadline), want)
					}
					return memory.EvaluateLayers(ctx, request)
				})
				if w := serve(newEdge(t, config)(done), by("a", "o", "/")); w.Code != http.StatusOK {
					t.Errorf("got %d, want 200", w.Code)
				}
			})
		})
	}
}

// Ensure that a request which levels cannot be asked about is refused and not
// asked about.
func TestEdgeLayersRefuseAnInvalidRequest(t *testing.T) {
	config, layered, _ := newLayersConfig(t)
	config.Layers.Levels[2].Subject = subject.Fixed(pseudonym.Subject{})
	w := serve(newEdge(t, config)(done), by("a", "o", "/"))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"category":"invalid-request"`) || w.Header().Get("Weir-Degraded") != "" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if got := layered.Requests(); len(got) > 0 {
		t.Errorf("%v was asked", got)
	}
}

// Ensure that a request that meets layers twice is charged once, and that handlers
// read what was decided: all of it, and the level that is closest to its end.
func TestEdgeLayersMountedTwiceChargeOnce(t *testing.T) {
	outerConfig, outer, _ := newLayersConfig(t)
	innerConfig, inner, single := newLayersConfig(t)
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		decision, ok := edge.DecisionFrom(r.Context())
		if !ok || decision.Policy.ID() != "tight" || decision.Remaining != 4 {
			t.Errorf("got %+v %t, want that of tight", decision, ok)
		}
		all, ok := edge.LayeredDecisionFrom(r.Context())
		if !ok || len(all.Levels) != 3 || all.Levels[2].Level != "everybody" || all.Levels[2].Remaining != 999 {
			t.Errorf("got %+v %t, want three levels", all, ok)
		}
	})
	outerEdge := newEdge(t, outerConfig)
	w := serve(outerEdge(outerEdge(newEdge(t, innerConfig)(handler))), by("a", "o", "/"))
	if got := outer.Requests(); len(got) != 1 {
		t.Errorf("the outer port was asked %d times, want once", len(got))
	}
	if len(inner.Requests()) > 0 || len(single.Requests()) > 0 {
		t.Error("the inner ports were asked")
	}
	if got := w.Header().Values("RateLimit"); len(got) != 1 {
		t.Errorf("got %q, want one field", got)
	}
}

// Ensure that what a handler does to a decision of several levels is not what the
// next one reads.
func TestLayeredDecisionFromIsACopy(t *testing.T) {
	config, _, _ := newLayersConfig(t)
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		first, _ := edge.LayeredDecisionFrom(r.Context())
		first.Levels[0].Allowed = false
		if second, ok := edge.LayeredDecisionFrom(r.Context()); !ok || !second.Allowed() {
			t.Errorf("got %+v, want the admission", second)
		}
	})
	serve(newEdge(t, config)(handler), by("a", "o", "/"))
}

// Ensure that a decision of one policy has no levels, and that there are none
// outside the edge.
func TestLayeredDecisionFromElsewhere(t *testing.T) {
	if decision, ok := edge.LayeredDecisionFrom(t.Context()); ok || decision.Levels != nil {
		t.Errorf("got %v %t", decision, ok)
	}
	config, _, _ := newLayersConfig(t)
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if decision, ok := edge.LayeredDecisionFrom(r.Context()); ok {
			t.Errorf("got %v", decision)
		}
	})
	serve(newEdge(t, config)(handler), by("", "", "/"))
}

// Ensure that all faults of layers come at once, each with the field it is about.
func TestNewLayersFaults(t *testing.T) {
	local, err := locallimit.New(locallimit.Config{Limit: 1, Window: time.Minute, MaxSubjects: 1})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*edge.Config)
		want   []string
	}{
		{"none", func(*edge.Config) {}, nil},
		{"every mode", func(c *edge.Config) { c.Layers.FailureMode, c.Layers.Replicas = edge.LocalFallback, 3 }, nil},
		{"a local limiter", func(c *edge.Config) { *c = edge.Config{Local: local, Layers: &edge.Layers{}} }, []string{"layers"}},
		{"nothing given", func(c *edge.Config) { c.Layers = &edge.Layers{} }, []string{"layers.port", "layers.levels"}},
		{"too many levels", func(c *edge.Config) { c.Layers.Levels = make([]edge.Level, 9) }, []string{
			"layers.levels", "layers.levels[0].policy", "layers.levels[0].subject",
		}},
		{"names", func(c *edge.Config) {
			c.Layers.Levels[0].Name, c.Layers.Levels[1].Name, c.Layers.Levels[2].Name = "Agent", "", "Agent"
		}, []string{"layers.levels[0].name", "layers.levels[1].name", "layers.levels[2].name", "layers.levels[2].name"}},
		{"policies", func(c *edge.Config) {
			c.Layers.Levels[0].Policy, c.Layers.Levels[1].Policy = "other", "heavy"
		}, []string{"layers.levels[0].policy", "layers.levels[2].policy"}},
		{"no subject", func(c *edge.Config) { c.Layers.Levels[1].Subject = nil }, []string{"layers.levels[1].subject"}},
		{"root", func(c *edge.Config) { c.Layers.Root = "tenant" }, []string{"layers.root"}},
		{"mode and replicas", func(c *edge.Config) { c.Layers.FailureMode, c.Layers.Replicas = "open", -1 }, []string{"layers.failure-mode", "layers.replicas"}},
		{"costs", func(c *edge.Config) {
			c.Routes = []edge.Route{{Pattern: "/a", Cost: 2}, {Pattern: "/b", Cost: 3}, {Pattern: "/c", Policy: "heavy", Cost: 100}}
		}, []string{"routes[1].cost"}},
		{"costs above a level's maximum", func(c *edge.Config) {
			c.DefaultPolicy = "heavy"
			c.Routes = []edge.Route{{Pattern: "/a", Cost: 5}, {Pattern: "/b", Cost: 6}, {Pattern: "/c", Policy: "heavy", Cost: 100}}
		}, []string{"routes[1].cost"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, _, _ := newLayersConfig(t)
			test.change(&config)
			_, err := edge.New(config)
			var got []string
			if faults, ok := errors.AsType[ratelimit.Faults](err); ok {
				for _, fault := range faults {
					got = append(got, fault.Field)
				}
			}
			if len(got) > 3 && test.name == "too many levels" { // the rest repeats
				got = got[:3]
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func BenchmarkEdgeLayers(b *testing.B) {
	config, _, _ := newLayersConfig(b)
	config.Layers.Port = ratelimittest.LayeredAlwaysAllows(config.Catalog.Current())
	config.Headers = answer.BothHeaders
	handler := newEdge(b, config)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	w, r := httptest.NewRecorder(), by("a", "o", "/")
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(w, r)
	}
}
