package claim

import (
	"fmt"

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

// all lists the claims in the order in which they are read. What batching gains is
// claimed as far as it holds where a system call is cheap; see docs/performance.md.
func all() []Claim {
	var claims []Claim
	for _, weir := range []string{"weir/fixed-window/batched", "weir/token-bucket/batched"} {
		claims = append(claims,
			throughput.against(weir, "redis_rate", most, Bound{AtLeast, 1.2, ""}),
			throughput.against(weir, "ulule", most, Bound{AtLeast, 1, ""}),
			p99.against(weir, "redis_rate", most, Bound{AtMost, 0.9, ""}),
			clientCPU.against(weir, "redis_rate", most, Bound{AtMost, 0.6, ""}),
		)
	}
	for _, weir := range []string{"weir/fixed-window/batched", "weir/sliding-counter/batched", "weir/token-bucket/batched"} {
		claims = append(claims, throughput.against(weir, "redis_rate", fewer, Bound{AtLeast, 0.85, ""}))
	}
	for _, layered := range contender.AllLayered() {
		claims = append(claims, roundTrip(layered.Name))
	}
	return append(claims,
		program("weir/fixed-window/admission", peer, 1.2),
		program("weir/sliding-counter/admission", peer, 1.3),
		program("weir/token-bucket/admission", peer, 1.3),
		program("weir/fixed-window/denial", peer, 1.05),
		program("weir/sliding-counter/denial", peer, 1.05),
		program("weir/token-bucket/denial", peer, 1.05),
		program(contender.LayeredProgram(2), contender.LayeredProgram(1), 1.7),
		// No more than two of these, which would not be atomic.
		program(contender.LayeredProgram(2), "weir/fixed-window/admission", 2),

		memory("weir/fixed-window/batched"),
		memory("weir/sliding-counter/batched"),
		memory("weir/token-bucket/batched"),

		page("http/redis-batched", "http/no-op-port", 0.4),
		page("http/redis-batched", "http/redis-pooled", 1.05),
		middleware("time", Bound{AtMost, 4, "µs"}, func(h table.Handler) float64 { return h.Time }),
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
			return run.Evaluations.Ratios(f.of, underLoad(one, callers), underLoad(other, callers))
		},
	}
}

func underLoad(name string, callers int) func(table.Evaluation) bool {
	return func(e table.Evaluation) bool {
		return e.Contender == name && e.Callers == callers && e.Subjects == contender.Subjects
	}
}

// peer is what programs for one level are compared with.
const peer = "redis_rate/admission"

func program(one, other string, most float64) Claim {
	return Claim{
		Title: fmt.Sprintf("server CPU of %s to %s", one, other),
		Bound: Bound{AtMost, most, ""},
		rounds: func(run table.Run) ([]float64, error) {
			return table.ServerCPURatios(run.Programs, one, other)
		},
	}
}

// roundTrip is one whatever the number of levels, and whatever the load.
func roundTrip(name string) Claim {
	return Claim{
		Title: "commands for an evaluation by " + name,
		Bound: Bound{AtMost, 1, "commands"},
		rounds: func(run table.Run) ([]float64, error) {
			var worst []float64
			for _, rows := range run.Layered {
				commands := 0.0
				for _, row := range rows {
					if row.Contender == name {
						commands = max(commands, row.Commands)
					}
				}
				if commands > 0 {
					worst = append(worst, commands)
				}
			}
			return present(worst)
		},
	}
}

func memory(name string) Claim {
	return Claim{
		Title: "memory of a key of " + name,
		Bound: Bound{AtMost, 224, "bytes"},
		rounds: func(run table.Run) ([]float64, error) {
			bytes := func(e table.Evaluation) float64 { return float64(e.BytesPerKey) }
			return present(run.Evaluations.Figures(bytes, underLoad(name, most)))
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
			return run.Pages.Ratios(perSecond, named(one), named(other))
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
			return run.Handlers.Differences(of, named("handler/limited"), named("handler/bare"))
		},
	}
}

func present(all []float64) ([]float64, error) {
	if len(all) == 0 {
		return nil, fmt.Errorf("was not measured")
	}
	return all, nil
}
