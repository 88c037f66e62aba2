package table

import (
	"slices"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat"
)

// Medians has for each row the median of each of its figures.
func (r Rounds[R]) Medians(median func(rows []R) R) []R {
	if len(r) == 0 {
		return nil
	}
	medians := make([]R, len(r[0]))
	for i := range medians {
		rows := make([]R, len(r))
		for round := range r {
			rows[round] = r[round][i]
		}
		medians[i] = median(rows)
	}
	return medians
}

// MedianEvaluation is the median of rows of one contender under one load. Of
// what must not vary it keeps the worst.
func MedianEvaluation(rows []Evaluation) Evaluation {
	median := rows[0]
	median.PerSecond = of(rows, func(e Evaluation) float64 { return e.PerSecond })
	median.P50 = of(rows, func(e Evaluation) float64 { return e.P50 })
	median.P99 = of(rows, func(e Evaluation) float64 { return e.P99 })
	median.Client = of(rows, func(e Evaluation) float64 { return e.Client })
	median.Redis = of(rows, func(e Evaluation) float64 { return e.Redis })
	median.Allocs = of(rows, func(e Evaluation) float64 { return e.Allocs })
	for _, row := range rows {
		median.BytesPerKey = max(median.BytesPerKey, row.BytesPerKey)
		median.Admitted = min(median.Admitted, row.Admitted)
		median.Errors = max(median.Errors, row.Errors)
	}
	return median
}

// MedianLayered is the median of rows of one number of levels under one load. Of
// what must not vary it keeps the worst.
func MedianLayered(rows []Layered) Layered {
	median := rows[0]
	evaluations := make([]Evaluation, len(rows))
	for i, row := range rows {
		evaluations[i] = row.Evaluation
		median.Commands = max(median.Commands, row.Commands)
	}
	median.Evaluation = MedianEvaluation(evaluations)
	return median
}

// MedianProgram is the median of rows of one program.
func MedianProgram(rows []Program) Program {
	median := rows[0]
	median.Redis = of(rows, func(p Program) float64 { return p.Redis })
	return median
}

// MedianPage is the median of rows of one path.
func MedianPage(rows []Page) Page {
	median := rows[0]
	median.PerSecond = of(rows, func(p Page) float64 { return p.PerSecond })
	median.P50 = of(rows, func(p Page) float64 { return p.P50 })
	median.P99 = of(rows, func(p Page) float64 { return p.P99 })
	return median
}

// MedianHandler is the median of rows of one handler.
func MedianHandler(rows []Handler) Handler {
	median := rows[0]
	median.Time = of(rows, func(h Handler) float64 { return h.Time })
	median.Allocs = of(rows, func(h Handler) float64 { return h.Allocs })
	return median
}

func of[R any](rows []R, figure func(R) float64) float64 {
	figures := make([]float64, len(rows))
	for i, row := range rows {
		figures[i] = figure(row)
	}
	return Median(figures)
}

// Median is the middle one of figures; of an even number of them, the lower of
// the middle two.
func Median(figures []float64) float64 {
	return stat.Quantile(0.5, stat.Empirical, slices.Sorted(slices.Values(figures)), nil)
}

// Rounded is figure to the hundredth: more digits would only be noise.
func Rounded(figure float64) float64 { return scalar.Round(figure, 2) }
