package measure

import (
	"context"
	"slices"

	"example.com/weir/bench/contender"
	"example.com/weir/bench/table"
)

// LayeredCells are the loads of several levels: the fewest callers and the most,
// about all subjects.
func LayeredCells(callers []int) []Cell {
	return slices.Compact([]Cell{
		{slices.Min(callers), contender.Subjects},
		{slices.Max(callers), contender.Subjects},
	})
}

// Layered compares evaluations of more and more levels.
func Layered(ctx context.Context, plan Plan) (table.Rounds[table.Layered], error) {
	e, err := newEvaluations(ctx, plan, contender.AllLayered())
	if err != nil {
		return nil, err
	}
	defer e.close()
	plan.Logger.Info("evaluations of several levels")
	measure := func(ctx context.Context, one opened, cell Cell) (table.Layered, error) {
		sample, used, err := e.measure(ctx, one, cell)
		if err != nil {
			return table.Layered{}, err
		}
		return table.Layered{
			Evaluation: newEvaluation(one.Name, cell, sample, used),
			Levels:     one.Levels,
			Commands:   float64(used.Calls[one.Command]) / float64(sample.Decisions),
		}, nil
	}
	return underLoads(ctx, e, LayeredCells(plan.Callers), measure, func(row *table.Layered) *table.Evaluation { return &row.Evaluation })
}
