package measure

import (
	"context"
	"net/http"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/bench/contender"
	"example.com/weir/bench/load"
	"example.com/weir/bench/table"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// handlerPolicy is the policy that the middleware decides by.
const handlerPolicy = "edge-default"

// Handlers compares a handler that does nothing with the same one behind the
// middleware, whose port is a double: the difference is what the middleware
// adds to a request.
func Handlers(ctx context.Context, plan Plan) (table.Rounds[table.Handler], error) {
	bare := http.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	limited, err := behindMiddleware(bare)
	if err != nil {
		return nil, err
	}
	var handlers []namedHandler
	for _, one := range []namedHandler{{"handler/bare", bare}, {"handler/limited", limited}} {
		if plan.Only.MatchString(one.name) {
			handlers = append(handlers, one)
		}
	}
	if len(handlers) == 0 {
		return nil, nil
	}
	plan.Logger.Info("handlers")
	return InRounds(ctx, plan.Rounds, len(handlers), func(ctx context.Context, i int) (table.Handler, error) {
		return handlers[i].measure(ctx, plan)
	})
}

type namedHandler struct {
	name string
	http.Handler
}

func behindMiddleware(next http.Handler) (http.Handler, error) {
	catalog, err := contender.NewCatalog(contender.Policy{
		ID:         handlerPolicy,
		Parameters: ratelimit.FixedWindow{Limit: 1_000_000, Window: month},
	})
	if err != nil {
		return nil, err
	}
	secret, err := contender.Secret()
	if err != nil {
		return nil, err
	}
	policy, _ := catalog.Current().Policy(handlerPolicy)
	limit, err := edge.New(edge.Config{
		Port:          ratelimittest.AlwaysAllows(policy),
		Catalog:       catalog,
		Pseudonym:     secret.SubjectKey(),
		DefaultPolicy: handlerPolicy,
	})
	if err != nil {
		return nil, err
	}
	return limit(next), nil
}

func (h namedHandler) measure(ctx context.Context, plan Plan) (table.Handler, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "/quotes", http.NoBody)
	if err != nil {
		return table.Handler{}, err
	}
	request.RemoteAddr = "192.0.2.1:1234" // as a server would fill it in
	response := discard{header: make(http.Header)}
	serve := func(context.Context, int) (bool, error) {
		clear(response.header)
		h.ServeHTTP(response, request)
		return true, nil
	}
	under := load.Plan{Callers: 1, Subjects: 1, Duration: WarmUp}
	load.Run(ctx, under, serve)
	under.Duration = plan.Duration
	sample := load.Run(ctx, under, serve)
	return table.Handler{
		Handler: h.name,
		Time:    table.Rounded(micros(sample.Elapsed, sample.Decisions)),
		Allocs:  table.Rounded(float64(sample.Mallocs) / float64(sample.Decisions)),
	}, nil
}

// discard costs nothing, unlike a recorder.
type discard struct{ header http.Header }

func (d discard) Header() http.Header               { return d.header }
func (d discard) Write(content []byte) (int, error) { return len(content), nil }
func (d discard) WriteHeader(int)                   {}
