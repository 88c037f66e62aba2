package table

import (
	"fmt"
	"slices"
)

// Figures has the figure of the row that is meant, the first one, of each round that
// has it.
func (r Rounds[R]) Figures(figure func(R) float64, meant func(R) bool) []float64 {
	var all []float64
	for _, rows := range r {
		if i := slices.IndexFunc(rows, meant); i >= 0 {
			all = append(all, figure(rows[i]))
		}
	}
	return all
}

// Ratios are those of one row's figure to another's that was measured in the same
// round. It is an error if one of them was not measured in every round of the
// other.
func (r Rounds[R]) Ratios(figure func(R) float64, one, other func(R) bool) ([]float64, error) {
	return pairwise(r.Figures(figure, one), r.Figures(figure, other), func(a, b float64) float64 { return a / b })
}

// Differences are as [Rounds.Ratios] is, between one row's figure and another's.
func (r Rounds[R]) Differences(figure func(R) float64, one, other func(R) bool) ([]float64, error) {
	return pairwise(r.Figures(figure, one), r.Figures(figure, other), func(a, b float64) float64 { return a - b })
}

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

// ServerCPURatios are those of one program's cost to another's, both by name.
func ServerCPURatios(programs Rounds[Program], one, other string) ([]float64, error) {
	named := func(name string) func(Program) bool {
		return func(p Program) bool { return p.Program == name }
	}
	return programs.Ratios(func(p Program) float64 { return p.Redis }, named(one), named(other))
}
