package measure

import (
	"context"
	"fmt"
	"slices"

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

// Evaluations compares the contenders.
func Evaluations(ctx context.Context, plan Plan) (table.Rounds[table.Evaluation], error) {
	client := store.Connect(plan.Address)
	defer client.Close()
	e := &evaluations{plan: plan, server: store.NewObserver(client)}
	defer e.close()
	if err := e.open(ctx); err != nil || len(e.opened) == 0 {
		return nil, err
	}
	rounds := make(table.Rounds[table.Evaluation], plan.Rounds)
	for _, cell := range Cells(plan.Callers) {
		plan.Logger.Info("evaluations", "callers", cell.Callers, "subjects", cell.Subjects)
		rows, err := InRounds(ctx, plan.Rounds, len(e.opened), func(ctx context.Context, i int) (table.Evaluation, error) {
			return e.measure(ctx, e.opened[i], cell)
		})
		if err != nil {
			return nil, err
		}
		for round := range rounds {
			rounds[round] = append(rounds[round], rows[round]...)
		}
	}
	return rounds, e.weigh(ctx, rounds)
}

type evaluations struct {
	plan   Plan
	server store.Observer
	opened []opened
}

type opened struct {
	contender.Contender
	contender.Decider
}

func (e *evaluations) open(ctx context.Context) error {
	for _, one := range contender.All() {
		if !e.plan.Only.MatchString(one.Name) {
			continue
		}
		decider, err := one.Open(ctx, e.plan.Address)
		if err != nil {
			return fmt.Errorf("%s: %w", one.Name, err)
		}
		e.opened = append(e.opened, opened{one, decider})
	}
	return nil
}

func (e *evaluations) close() {
	for _, one := range e.opened {
		if err := one.Close(); err != nil {
			e.plan.Logger.Warn("a contender did not close", "contender", one.Name, "error", err)
		}
	}
}

func (e *evaluations) measure(ctx context.Context, one opened, cell Cell) (table.Evaluation, error) {
	// A peer's state may have expired since it was measured last.
	if err := load.Prime(ctx, primers, cell.Subjects, one.Decide); err != nil {
		return table.Evaluation{}, fmt.Errorf("%s: %w", one.Name, err)
	}
	plan := load.Plan{Callers: cell.Callers, Subjects: cell.Subjects, Duration: WarmUp}
	load.Run(ctx, plan, one.Decide)

	before, err := e.server.Usage(ctx)
	if err != nil {
		return table.Evaluation{}, err
	}
	plan.Duration = e.plan.Duration
	sample := load.Run(ctx, plan, one.Decide)
	after, err := e.server.Usage(ctx)
	if err != nil {
		return table.Evaluation{}, err
	}
	used := after.Since(before)
	if err := one.Check(sample, used); err != nil {
		return table.Evaluation{}, err
	}
	return newEvaluation(one.Name, cell, sample, used), nil
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

// weigh fills in the memory of keys, which all rounds share.
func (e *evaluations) weigh(ctx context.Context, rounds table.Rounds[table.Evaluation]) error {
	sizes := make(map[string]int64)
	for _, one := range e.opened {
		if one.Keys == "" {
			continue
		}
		size, err := e.server.LargestKey(ctx, one.Keys)
		if err != nil {
			return fmt.Errorf("%s: %w", one.Name, err)
		}
		sizes[one.Name] = size
	}
	for _, rows := range rounds {
		for i := range rows {
			rows[i].BytesPerKey = sizes[rows[i].Contender]
		}
	}
	return nil
}
