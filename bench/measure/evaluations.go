package measure

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"example.com/weir/bench/contender"
	"example.com/weir/bench/load"
	"example.com/weir/bench/store"
	"example.com/weir/bench/table"
)

// primers is how many callers bring about the state.
const primers = 64

// Cell is one load: how many ask, about how many subjects.
type Cell struct {
	Callers, Subjects int
}

// Cells are the loads for these numbers of callers: about all subjects, and of
// the most callers also about a single one.
func Cells(callers []int) []Cell {
	cells := make([]Cell, 0, len(callers)+1)
	for _, count := range callers {
		cells = append(cells, Cell{count, contender.Subjects})
	}
	return append(cells, Cell{slices.Max(callers), 1})
}

// Evaluations compares the contenders that decide about one subject.
func Evaluations(ctx context.Context, plan Plan) (table.Rounds[table.Evaluation], error) {
	e, err := newEvaluations(ctx, plan, contender.All())
	if err != nil {
		return nil, err
	}
	defer e.close()
	measure := func(ctx context.Context, one opened, cell Cell) (table.Evaluation, error) {
		sample, used, err := e.measure(ctx, one, cell)
		if err != nil {
			return table.Evaluation{}, err
		}
		return newEvaluation(one.Name, cell, sample, used), nil
	}
	return underLoads(ctx, e, Cells(plan.Callers), measure, func(row *table.Evaluation) *table.Evaluation { return row })
}

type evaluations struct {
	plan   Plan
	client *redis.Client
	server store.Observer
	opened []opened
}

type opened struct {
	contender.Contender
	contender.Decider
}

// newEvaluations opens those of contenders that plan has chosen. Nothing is left
// open on an error.
func newEvaluations(ctx context.Context, plan Plan, contenders []contender.Contender) (*evaluations, error) {
	client := store.Connect(plan.Address)
	e := &evaluations{plan: plan, client: client, server: store.NewObserver(client)}
	for _, one := range contenders {
		if !plan.Only.MatchString(one.Name) {
			continue
		}
		decider, err := one.Open(ctx, plan.Address)
		if err != nil {
			e.close()
			return nil, fmt.Errorf("%s: %w", one.Name, err)
		}
		e.opened = append(e.opened, opened{one, decider})
	}
	return e, nil
}

func (e *evaluations) close() {
	for _, one := range e.opened {
		if err := one.Close(); err != nil {
			e.plan.Logger.Warn("a contender did not close", "contender", one.Name, "error", err)
		}
	}
	_ = e.client.Close()
}

// underLoads measures everything that e has opened under one load after the other.
// The rows are of any kind that has an evaluation in it.
func underLoads[R any](
	ctx context.Context, e *evaluations, cells []Cell,
	measure func(context.Context, opened, Cell) (R, error), evaluation func(*R) *table.Evaluation,
) (table.Rounds[R], error) {
	if len(e.opened) == 0 {
		return nil, nil
	}
	rounds := make(table.Rounds[R], e.plan.Rounds)
	for _, cell := range cells {
		e.plan.Logger.Info("evaluations", "callers", cell.Callers, "subjects", cell.Subjects)
		rows, err := InRounds(ctx, e.plan.Rounds, len(e.opened), func(ctx context.Context, i int) (R, error) {
			return measure(ctx, e.opened[i], cell)
		})
		if err != nil {
			return nil, err
		}
		for round := range rounds {
			rounds[round] = append(rounds[round], rows[round]...)
		}
	}
	sizes, err := e.sizes(ctx)
	for _, rows := range rounds {
		for i := range rows {
			row := evaluation(&rows[i])
			row.BytesPerKey = sizes[row.Contender]
		}
	}
	return rounds, err
}

// measure is one measurement that can be believed.
func (e *evaluations) measure(ctx context.Context, one opened, cell Cell) (sample load.Sample, used store.Usage, err error) {
	// A peer's state may have expired since it was measured last.
	if err := load.Prime(ctx, primers, cell.Subjects, one.Decide); err != nil {
		return sample, used, fmt.Errorf("%s: %w", one.Name, err)
	}
	plan := load.Plan{Callers: cell.Callers, Subjects: cell.Subjects, Duration: WarmUp}
	load.Run(ctx, plan, one.Decide)

	before, err := e.server.Usage(ctx)
	if err != nil {
		return sample, used, err
	}
	plan.Duration = e.plan.Duration
	sample = load.Run(ctx, plan, one.Decide)
	after, err := e.server.Usage(ctx)
	if err != nil {
		return sample, used, err
	}
	used = after.Since(before)
	return sample, used, one.Check(sample, used)
}

func newEvaluation(name string, cell Cell, sample load.Sample, used store.Usage) table.Evaluation {
	decisions := float64(sample.Decisions)
	return table.Evaluation{
		Contender: name,
		Callers:   cell.Callers,
		Subjects:  cell.Subjects,
		PerSecond: table.Rounded(decisions / sample.Elapsed.Seconds()),
		P50:       table.Rounded(micros(sample.P50, 1)),
		P99:       table.Rounded(micros(sample.P99, 1)),
		Client:    table.Rounded(micros(sample.CPU, sample.Decisions)),
		Redis:     table.Rounded(micros(used.CPU, sample.Decisions)),
		Allocs:    table.Rounded(float64(sample.Mallocs) / decisions),
		Admitted:  float64(sample.Admitted) / decisions,
		Errors:    sample.Errors,
	}
}

// sizes is the memory of each contender's largest key, by the contender's name. All
// rounds share it.
func (e *evaluations) sizes(ctx context.Context) (map[string]int64, error) {
	sizes := make(map[string]int64)
	for _, one := range e.opened {
		if one.Keys == "" {
			continue
		}
		size, err := e.server.LargestKey(ctx, one.Keys)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.Name, err)
		}
		sizes[one.Name] = size
	}
	return sizes, nil
}
