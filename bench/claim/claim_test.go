package claim

import (
	"slices"
	"strings"
	"testing"

	"example.com/weir/bench/contender"
	"example.com/weir/bench/table"
)

// goodRun keeps every claim, exactly.
func goodRun(rounds int) table.Run {
	var run table.Run
	for range rounds {
		run.Evaluations = append(run.Evaluations, goodEvaluations())
		run.Programs = append(run.Programs, []table.Program{
			{Program: "redis_rate/admission", Redis: 10},
			{Program: "weir/fixed-window/admission", Redis: 12},
			{Program: "weir/sliding-counter/admission", Redis: 13},
			{Program: "weir/token-bucket/admission", Redis: 13},
			{Program: "weir/fixed-window/denial", Redis: 10.5},
			{Program: "weir/sliding-counter/denial", Redis: 10.5},
			{Program: "weir/token-bucket/denial", Redis: 10.5},
			{Program: "weir/layered/1/admission", Redis: 10},
			{Program: "weir/layered/2/admission", Redis: 17},
		})
		run.Layered = append(run.Layered, goodLayers())
		run.Pages = append(run.Pages, []table.Page{
			{Path: "http/no-op-port", PerSecond: 2100},
			{Path: "http/redis-batched", PerSecond: 840},
			{Path: "http/redis-pooled", PerSecond: 800},
		})
		run.Handlers = append(run.Handlers, []table.Handler{
			{Handler: "handler/bare", Time: 1, Allocs: 1},
			{Handler: "handler/limited", Time: 5, Allocs: 21},
		})
	}
	return run
}

func goodEvaluations() []table.Evaluation {
	weir := table.Evaluation{PerSecond: 120, P99: 90, Client: 6, BytesPerKey: 224}
	var rows []table.Evaluation
	add := func(row table.Evaluation, name string, callers int) {
		row.Contender, row.Callers, row.Subjects = name, callers, contender.Subjects
		rows = append(rows, row)
	}
	for _, name := range []string{"weir/fixed-window/batched", "weir/sliding-counter/batched", "weir/token-bucket/batched"} {
		add(weir, name, most)
		add(table.Evaluation{PerSecond: 85}, name, fewer)
	}
	add(table.Evaluation{PerSecond: 100, P99: 100, Client: 10}, "redis_rate", most)
	add(table.Evaluation{PerSecond: 100}, "redis_rate", fewer)
	add(table.Evaluation{PerSecond: 120}, "ulule", most)
	return rows
}

func goodLayers() []table.Layered {
	var rows []table.Layered
	for _, callers := range []int{fewer, most} {
		for _, one := range contender.AllLayered() {
			evaluation := table.Evaluation{Contender: one.Name, Callers: callers, Subjects: contender.Subjects}
			rows = append(rows, table.Layered{Evaluation: evaluation, Levels: one.Levels, Commands: 1})
		}
	}
	return rows
}

// Ensure that what keeps the bounds to the letter is found to keep them.
func TestJudge(t *testing.T) {
	verdicts, err := Judge(goodRun(MinRounds))
	if err != nil {
		t.Fatal(err)
	}
	for _, verdict := range verdicts {
		if !verdict.Kept {
			t.Errorf("%s: %s is not within %s", verdict.Title, verdict.Text(), verdict.Bound)
		}
	}
}

// Ensure that a claim is not kept if its figure is a little worse in most of the
// rounds, and that nothing else is blamed.
func TestJudgeCatchesPlantedFaults(t *testing.T) {
	weir := func(row *table.Evaluation, callers int) bool {
		return row.Contender == "weir/token-bucket/batched" && row.Callers == callers
	}
	for name, test := range map[string]struct {
		worsen func(*table.Run, int)
		want   []string // parts of titles
	}{
		"throughput": {
			worsenEvaluation(func(e *table.Evaluation) {
				if weir(e, most) {
					e.PerSecond--
				}
			}),
			[]string{"evaluations per second of weir/token-bucket/batched to redis_rate, callers: 128", "weir/token-bucket/batched to ulule"},
		},
		"a faster peer": {
			worsenEvaluation(func(e *table.Evaluation) {
				if e.Contender == "ulule" {
					e.PerSecond++
				}
			}),
			[]string{"weir/fixed-window/batched to ulule", "weir/token-bucket/batched to ulule"},
		},
		"latency": {
			worsenEvaluation(func(e *table.Evaluation) {
				if weir(e, most) {
					e.P99++
				}
			}),
			[]string{"p99 of weir/token-bucket/batched"},
		},
		"client CPU": {
			worsenEvaluation(func(e *table.Evaluation) {
				if weir(e, most) {
					e.Client += 0.1
				}
			}),
			[]string{"client CPU per evaluation of weir/token-bucket/batched"},
		},
		"one caller": {
			worsenEvaluation(func(e *table.Evaluation) {
				if weir(e, fewer) {
					e.PerSecond--
				}
			}),
			[]string{"weir/token-bucket/batched to redis_rate, callers: 1"},
		},
		"memory": {
			worsenEvaluation(func(e *table.Evaluation) {
				if weir(e, most) {
					e.BytesPerKey++
				}
			}),
			[]string{"memory of a key of weir/token-bucket/batched"},
		},
		"an admission": {
			func(run *table.Run, round int) { run.Programs[round][1].Redis += 0.1 },
			[]string{"server CPU of weir/fixed-window/admission"},
		},
		"a denial": {
			func(run *table.Run, round int) { run.Programs[round][6].Redis += 0.1 },
			[]string{"server CPU of weir/token-bucket/denial"},
		},
		"a second level": {
			func(run *table.Run, round int) { run.Programs[round][8].Redis += 0.1 },
			[]string{"server CPU of weir/layered/2/admission to weir/layered/1/admission"},
		},
		"a cheaper first level": {
			func(run *table.Run, round int) { run.Programs[round][7].Redis -= 0.1 },
			[]string{"server CPU of weir/layered/2/admission to weir/layered/1/admission"},
		},
		"two levels beside a single evaluation": {
			func(run *table.Run, round int) { run.Programs[round][7].Redis, run.Programs[round][8].Redis = 15, 24.1 },
			[]string{"server CPU of weir/layered/2/admission to weir/fixed-window/admission"},
		},
		"a second command at one caller": {
			func(run *table.Run, round int) { run.Layered[round][1].Commands = 2 },
			[]string{"commands for an evaluation by weir/layered/2/batched"},
		},
		"a command too many at the most callers": {
			func(run *table.Run, round int) { run.Layered[round][7].Commands = 1.0001 },
			[]string{"commands for an evaluation by weir/layered/5/batched"},
		},
		"HTTP with nothing to ask": {
			func(run *table.Run, round int) { run.Pages[round][0].PerSecond = 2401 },
			[]string{"http/redis-batched to http/no-op-port"},
		},
		"HTTP with pooled dispatch": {
			func(run *table.Run, round int) { run.Pages[round][2].PerSecond++ },
			[]string{"http/redis-batched to http/redis-pooled"},
		},
		"time in the middleware": {
			func(run *table.Run, round int) { run.Handlers[round][1].Time += 0.1 },
			[]string{"time that the middleware adds"},
		},
		"allocations in the middleware": {
			func(run *table.Run, round int) { run.Handlers[round][1].Allocs++ },
			[]string{"allocations that the middleware adds"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := goodRun(MinRounds)
			for round := range MinRounds/2 + 1 {
				test.worsen(&run, round)
			}
			expectBroken(t, run, test.want)

			// In fewer than half of the rounds it is the machine's noise.
			run = goodRun(MinRounds)
			for round := range MinRounds / 2 {
				test.worsen(&run, round)
			}
			expectBroken(t, run, nil)
		})
	}
}

func worsenEvaluation(worsen func(*table.Evaluation)) func(*table.Run, int) {
	return func(run *table.Run, round int) {
		for i := range run.Evaluations[round] {
			worsen(&run.Evaluations[round][i])
		}
	}
}

func expectBroken(t *testing.T, run table.Run, want []string) {
	t.Helper()
	verdicts, err := Judge(run)
	if err != nil {
		t.Fatal(err)
	}
	broken := make([]string, 0, len(want))
	for _, verdict := range verdicts {
		if !verdict.Kept {
			broken = append(broken, verdict.Title)
		}
	}
	if len(broken) != len(want) {
		t.Fatalf("not kept: %q, want %q", broken, want)
	}
	for _, part := range want {
		if !slices.ContainsFunc(broken, func(title string) bool { return strings.Contains(title, part) }) {
			t.Errorf("not kept: %q, want %q among them", broken, part)
		}
	}
}

// Ensure that a run which lacks a measurement, or rounds, is not judged.
func TestJudgeRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*table.Run){
		"too few rounds": func(run *table.Run) { *run = goodRun(MinRounds - 2) },
		"nothing":        func(run *table.Run) { *run = table.Run{} },
		"no peer": func(run *table.Run) {
			for round := range run.Evaluations {
				run.Evaluations[round] = slices.DeleteFunc(run.Evaluations[round],
					func(e table.Evaluation) bool { return e.Contender == "redis_rate" })
			}
		},
		"a round without a program": func(run *table.Run) { run.Programs[3] = run.Programs[3][1:] },
		"no levels":                 func(run *table.Run) { run.Layered = nil },
		"a number of levels that is missing": func(run *table.Run) {
			for round := range run.Layered {
				run.Layered[round] = slices.DeleteFunc(run.Layered[round],
					func(l table.Layered) bool { return l.Levels == 3 })
			}
		},
		"too few rounds with levels": func(run *table.Run) { run.Layered = run.Layered[1:] },
		"no HTTP":                    func(run *table.Run) { run.Pages = nil },
		"no handlers":                func(run *table.Run) { run.Handlers = nil },
	} {
		t.Run(name, func(t *testing.T) {
			run := goodRun(MinRounds)
			spoil(&run)
			if verdicts, err := Judge(run); err == nil {
				t.Errorf("it was judged: %v", verdicts)
			}
		})
	}
}
