package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"example.com/weir/bench/claim"
	"example.com/weir/bench/measure"
	"example.com/weir/bench/page"
	"example.com/weir/bench/store"
	"example.com/weir/bench/table"
	"example.com/weir/bench/web"
)

const (
	// results and documents are where a whole run is kept and shown.
	results   = "."
	documents = "../docs"

	// timeLimit ends a run that takes longer than anybody would wait.
	timeLimit = 20 * time.Minute
)

// wholePlan measures everything.
func wholePlan() measure.Plan {
	return measure.Plan{
		Rounds:   15,
		Callers:  []int{1, 16, 128},
		Duration: 500 * time.Millisecond,
		Only:     regexp.MustCompile(""),
	}
}

// isWhole tells whether plan measures all that results are made of.
func isWhole(plan measure.Plan) bool {
	whole := wholePlan()
	return plan.Rounds >= claim.MinRounds && plan.Duration >= whole.Duration &&
		slices.Equal(plan.Callers, whole.Callers) && plan.Only.String() == whole.Only.String()
}

// run measures, and prints the medians. A whole run replaces the results and is
// judged; part of one leaves them alone.
func run(ctx context.Context, plan measure.Plan, stdout io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeLimit, fmt.Errorf("the run took more than %v", timeLimit))
	defer cancel()
	measured, err := measureAll(ctx, plan)
	if err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	if err := printMedians(stdout, measured); err != nil {
		return err
	}
	if !isWhole(plan) {
		fmt.Fprintln(stdout, "part of a run: the results are left as they were")
		return nil
	}
	if err := table.Write(results, measured); err != nil {
		return err
	}
	if err := report(); err != nil {
		return err
	}
	return check(stdout)
}

func measureAll(ctx context.Context, plan measure.Plan) (run table.Run, err error) {
	began := time.Now()
	if run.Evaluations, err = measure.Evaluations(ctx, plan); err != nil {
		return run, err
	}
	if run.Layered, err = measure.Layered(ctx, inFewerRounds(plan)); err != nil {
		return run, err
	}
	if run.Programs, err = measure.Programs(ctx, plan); err != nil {
		return run, err
	}
	if run.Pages, err = web.Pages(ctx, plan); err != nil {
		return run, err
	}
	if run.Handlers, err = measure.Handlers(ctx, plan); err != nil {
		return run, err
	}
	client := store.Connect(plan.Address)
	defer client.Close()
	server, err := store.NewObserver(client).Version(ctx)
	run.Machine = table.ThisMachine(server)
	run.Machine.Rounds = plan.Rounds
	run.Machine.Millis = plan.Duration.Milliseconds()
	run.Machine.Seconds = int(time.Since(began).Seconds())
	return run, err
}

// inFewerRounds is plan with as many rounds as a claim needs, so that the whole run
// stays within its time.
func inFewerRounds(plan measure.Plan) measure.Plan {
	plan.Rounds = min(plan.Rounds, claim.MinRounds)
	return plan
}

func printMedians(w io.Writer, run table.Run) error {
	return errors.Join(
		printRows(w, run.Evaluations.Medians(table.MedianEvaluation)),
		printRows(w, run.Layered.Medians(table.MedianLayered)),
		printRows(w, run.Programs.Medians(table.MedianProgram)),
		printRows(w, run.Pages.Medians(table.MedianPage)),
		printRows(w, run.Handlers.Medians(table.MedianHandler)),
	)
}

func printRows[R any](w io.Writer, rows []R) error {
	for _, row := range rows {
		if err := json.NewEncoder(w).Encode(row); err != nil {
			return err
		}
	}
	return nil
}

// check prints every claim with what the results show, and is an error if one is
// not kept.
func check(stdout io.Writer) error {
	measured, err := table.Read(results)
	if err != nil {
		return err
	}
	verdicts, err := claim.Judge(measured)
	if err != nil {
		return err
	}
	broken := 0
	for _, verdict := range verdicts {
		word := "pass"
		if !verdict.Kept {
			word = "FAIL"
			broken++
		}
		fmt.Fprintf(stdout, "%s  %-12s %-14s %s\n", word, verdict.Text(), verdict.Bound, verdict.Title)
	}
	if broken > 0 {
		return fmt.Errorf("%d of %d claims are not kept", broken, len(verdicts))
	}
	return nil
}

// report brings the documents up to date with the results.
func report() error {
	measured, err := table.Read(results)
	if err != nil {
		return err
	}
	return page.Write(documents, measured)
}
