package claim

import (
	"fmt"
	"slices"

	"example.com/weir/bench/contender"
	"example.com/weir/bench/table"
)

const (
	most  = 128 // callers
	fewer = 1
)

var (
	throughput = evaluationFigure{"evaluations per second", func(e table.Evaluation) float64 { return e.PerSecond }}
	p99        = evaluationFigure{"p99", func(e table.Evaluation) float64 { return e.P99 }}
	clientCPU  = evaluationFigure{"client CPU per evaluation", func(e table.Evaluation) float64 { return e.Client }}
)

// all lists the claims in the order in which they are read.
func all() []Claim {
	var claims []Claim
	for _, weir := range []string{"weir/fixed-window/batched", "weir/token-bucket/batched"} {
		claims = append(claims,
			throughput.against(weir, "redis_rate", most, Bound{AtLeast, 1.5, ""}),
			throughput.against(weir, "ulule", most, Bound{AtLeast, 1.2, ""}),
			p99.against(weir, "redis_rate", most, Bound{AtMost, 0.6, ""}),
			clientCPU.against(weir, "redis_rate", most, Bound{AtMost, 0.4, ""}),
		)
	}
	for _, weir := range []string{"weir/fixed-window/batched", "weir/sliding-counter/batched", "weir/token-bucket/batched"} {
		claims = append(claims, throughput.against(weir, "redis_rate", fewer, Bound{AtLeast, 0.95, ""}))
	}
	return append(claims,
		program("weir/fixed-window/admission", 1.2),
		program("weir/sliding-counter/admission", 1.3),
		program("weir/token-bucket/admission", 1.3),
		program("weir/fixed-window/denial", 1.05),
		program("weir/sliding-counter/denial", 1.05),
		program("weir/token-bucket/denial", 1.05),

		memory("weir/fixed-window/batched"),
		memory("weir/sliding-counter/batched"),
		memory("weir/token-bucket/batched"),

		page("http/redis-batched", "http/no-op-port", 0.5),
		page("http/redis-batched", "http/redis-pooled", 1.2),
		middleware("time", Bound{AtMost, 3, "µs"}, func(h table.Handler) float64 { return h.Time }),
		middleware("allocations", Bound{AtMost, 20, "objects"}, func(h table.Handler) float64 { return h.Allocs }),
	)
}

type evaluationFigure struct {
	name string
	of   func(table.Evaluation) float64
}

func (f evaluationFigure) against(one, other string, callers int, bound Bound) Claim {
	return Claim{
		Title: fmt.Sprintf("%s of %s to %s, callers: %d", f.name, one, other, callers),
		Bound: bound,
		rounds: func(run table.Run) ([]float64, error) {
			return ratios(
				figures(run.Evaluations, underLoad(one, callers), f.of),
				figures(run.Evaluations, underLoad(other, callers), f.of),
			)
		},
	}
}

func underLoad(name string, callers int) func(table.Evaluation) bool {
	return func(e table.Evaluation) bool {
		return e.Contender == name && e.Callers == callers && e.Subjects == contender.Subjects
	}
}

func program(name string, most float64) Claim {
	const reference = "redis_rate/admission"
	named := func(name string) func(table.Program) bool {
		return func(p table.Program) bool { return p.Program == name }
	}
	cost := func(p table.Program) float64 { return p.Redis }
	return Claim{
		Title: fmt.Sprintf("server CPU of %s to %s", name, reference),
		Bound: Bound{AtMost, most, ""},
		rounds: func(run table.Run) ([]float64, error) {
			return ratios(figures(run.Programs, named(name), cost), figures(run.Programs, named(reference), cost))
		},
	}
}

func memory(name string) Claim {
	return Claim{
		Title: "memory of a key of " + name,
		Bound: Bound{AtMost, 224, "bytes"},
		rounds: func(run table.Run) ([]float64, error) {
			return present(figures(run.Evaluations, underLoad(name, most), func(e table.Evaluation) float64 {
				return float64(e.BytesPerKey)
			}))
		},
	}
}

func page(one, other string, least float64) Claim {
	named := func(path string) func(table.Page) bool {
		return func(p table.Page) bool { return p.Path == path }
	}
	perSecond := func(p table.Page) float64 { return p.PerSecond }
	return Claim{
		Title: fmt.Sprintf("requests per second of %s to %s", one, other),
		Bound: Bound{AtLeast, least, ""},
		rounds: func(run table.Run) ([]float64, error) {
			return ratios(figures(run.Pages, named(one), perSecond), figures(run.Pages, named(other), perSecond))
		},
	}
}

func middleware(name string, bound Bound, of func(table.Handler) float64) Claim {
	named := func(handler string) func(table.Handler) bool {
		return func(h table.Handler) bool { return h.Handler == handler }
	}
	return Claim{
		Title: name + " that the middleware adds to a request",
		Bound: bound,
		rounds: func(run table.Run) ([]float64, error) {
			return differences(figures(run.Handlers, named("handler/limited"), of), figures(run.Handlers, named("handler/bare"), of))
		},
	}
}

// figures has the figure of the row that is meant, of each round that has it.
func figures[R any](rounds table.Rounds[R], meant func(R) bool, of func(R) float64) []float64 {
	var all []float64
	for _, rows := range rounds {
		if i := slices.IndexFunc(rows, meant); i >= 0 {
			all = append(all, of(rows[i]))
		}
	}
	return all
}

func present(all []float64) ([]float64, error) {
	if len(all) == 0 {
		return nil, fmt.Errorf("was not measured")
	}
	return all, nil
}

func ratios(of, to []float64) ([]float64, error) {
	return pairwise(of, to, func(a, b float64) float64 { return a / b })
}

func differences(of, to []float64) ([]float64, error) {
	return pairwise(of, to, func(a, b float64) float64 { return a - b })
}

// pairwise compares what was measured in the same round.
func pairwise(of, to []float64, compare func(a, b float64) float64) ([]float64, error) {
	if len(of) == 0 || len(of) != len(to) {
		return nil, fmt.Errorf("was measured in %d and %d rounds", len(of), len(to))
	}
	compared := make([]float64, len(of))
	for i := range of {
		compared[i] = compare(of[i], to[i])
	}
	return compared, nil
}
