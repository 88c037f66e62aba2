package main

import (
	"fmt"
	"net/http"

	"example.com/weir/adapter-inbound-web/edge"
)

// newHandler puts the application behind the limits. The middleware goes
// outermost, so that what it refuses costs the application nothing.
func newHandler(limits edge.Config) (http.Handler, error) {
	limits.Routes = []edge.Route{
		{Pattern: "GET /health", Exempt: true},
		{Pattern: "POST /quotes", Cost: 5},
	}
	limit, err := edge.New(limits)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "healthy")
	})
	mux.HandleFunc("GET /quotes", listQuotes)
	mux.HandleFunc("POST /quotes", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
	})
	return limit(mux), nil
}

// listQuotes says in its answer what was decided about the request. The client
// reads it in the header fields, so a handler rarely needs to know.
func listQuotes(w http.ResponseWriter, r *http.Request) {
	if decision, decided := edge.DecisionFrom(r.Context()); decided {
		fmt.Fprintf(w, "no quotes; %d of %d requests left\n", decision.Remaining, decision.Limit)
	}
}
