package main

import (
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// newRouter uses one middleware for the whole router, and says in its table what
// which route costs. The patterns are those of net/http, which look like chi's.
// A middleware per route would only see the spelling of a path that chi has
// matched; the table is searched for every reading of the path, and the dearest
// counts.
func newRouter(port ratelimit.EdgePort, catalog *ratelimit.Catalog, key *pseudonym.Key) (http.Handler, error) {
	limit, err := edge.New(edge.Config{
		Port:          port,
		Catalog:       catalog,
		Pseudonym:     key,
		DefaultPolicy: defaultPolicy,
		Routes: []edge.Route{
			{Pattern: "GET /health", Exempt: true},
			{Pattern: "POST /quotes/{id}/calculate", Policy: calculatePolicy, Cost: 10},
		},
	})
	if err != nil {
		return nil, err
	}
	router := chi.NewRouter()
	router.Use(limit)
	router.Get("/health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "healthy") })
	router.Route("/quotes/{id}", func(quote chi.Router) {
		quote.Get("/", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintln(w, "quote", chi.URLParam(r, "id"))
		})
		quote.Post("/calculate", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintln(w, "calculated quote", chi.URLParam(r, "id"))
		})
	})
	return router, nil
}
