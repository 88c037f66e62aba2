package web

import (
	"context"
	"errors"
	"fmt"

	"example.com/weir/bench/measure"
	"example.com/weir/bench/table"
)

// Connections is how many requests wrk has under way at the same time.
const Connections = 64

// Pages compares the paths. Their servers run all the time; one is loaded at a
// time.
func Pages(ctx context.Context, plan measure.Plan) (rounds table.Rounds[table.Page], err error) {
	var chosen []path
	for _, one := range paths() {
		if plan.Only.MatchString(one.name) {
			chosen = append(chosen, one)
		}
	}
	if len(chosen) == 0 {
		return nil, nil
	}
	plan.Logger.Info("web")
	wrk, err := newWrk()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, wrk.remove()) }()

	var processes processes
	defer func() { err = errors.Join(err, processes.stop()) }()
	for _, one := range chosen {
		process, err := start(ctx, one, plan.Address)
		if err != nil {
			return nil, err
		}
		processes = append(processes, process)
	}
	return measure.InRounds(ctx, plan.Rounds, len(processes), func(ctx context.Context, i int) (table.Page, error) {
		return processes[i].measure(ctx, wrk, plan)
	})
}

func (p *process) measure(ctx context.Context, wrk wrk, plan measure.Plan) (table.Page, error) {
	if _, err := wrk.run(ctx, p.path.script, p.address, Connections, measure.WarmUp); err != nil {
		return table.Page{}, fmt.Errorf("%s: %w", p.path.name, err)
	}
	answered, err := wrk.run(ctx, p.path.script, p.address, Connections, 2*plan.Duration)
	if err == nil {
		err = answered.check()
	}
	if err != nil {
		return table.Page{}, fmt.Errorf("%s: %w", p.path.name, err)
	}
	return table.Page{
		Path:        p.path.name,
		Connections: Connections,
		PerSecond:   table.Rounded(float64(answered.Requests) / float64(answered.Micros) * 1e6),
		P50:         float64(answered.P50),
		P99:         float64(answered.P99),
	}, nil
}
