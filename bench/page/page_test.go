package page

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/weir/bench/contender"
	"example.com/weir/bench/table"
)

const template = `# Title
<!-- begin machine -->
<!-- end machine -->
<!-- begin claims -->
old
<!-- end claims -->
between
<!-- begin evaluations -->
<!-- end evaluations -->
<!-- begin programs -->
<!-- end programs -->
<!-- begin levels -->
<!-- end levels -->
<!-- begin web -->
<!-- end web -->
<!-- begin handlers -->
<!-- end handlers -->
the end
`

// plantedRun has everything that is claimed, in distinct figures.
func plantedRun() table.Run {
	run := table.Run{Machine: table.Machine{Date: "2026-11-30", CPU: "Abacus", Rounds: 7}}
	names := []string{
		"floor/ping", "weir/fixed-window/batched", "weir/sliding-counter/batched", "weir/token-bucket/batched", "redis_rate", "ulule",
	}
	for range 7 {
		var evaluations []table.Evaluation
		for _, callers := range []int{1, 128} {
			for i, name := range names {
				evaluations = append(evaluations, table.Evaluation{
					Contender: name, Callers: callers, Subjects: contender.Subjects,
					PerSecond: float64(10_000*callers + i), P50: 50, P99: float64(7000 + i), Client: float64(3 + i), Redis: 5, BytesPerKey: 168,
				})
			}
		}
		run.Evaluations = append(run.Evaluations, evaluations)
		run.Programs = append(run.Programs, []table.Program{
			{Program: "redis_rate/admission", Redis: 6.5},
			{Program: "weir/fixed-window/admission", Redis: 7.25},
			{Program: "weir/fixed-window/denial", Redis: 6.25},
			{Program: "weir/sliding-counter/admission", Redis: 7.5},
			{Program: "weir/sliding-counter/denial", Redis: 6.25},
			{Program: "weir/token-bucket/admission", Redis: 7.75},
			{Program: "weir/token-bucket/denial", Redis: 6.25},
			{Program: "weir/layered/1/admission", Redis: 8},
			{Program: "weir/layered/2/admission", Redis: 12},
			{Program: "weir/layered/3/admission", Redis: 16.5},
			{Program: "weir/layered/4/admission", Redis: 20},
			{Program: "weir/layered/5/admission", Redis: 24},
		})
		var layers []table.Layered
		for _, callers := range []int{1, 128} {
			for i, one := range contender.AllLayered() {
				layers = append(layers, table.Layered{
					Evaluation: table.Evaluation{
						Contender: one.Name, Callers: callers, Subjects: contender.Subjects,
						PerSecond: float64(9000*callers + i), BytesPerKey: 168,
					},
					Levels: one.Levels, Commands: 1,
				})
			}
		}
		run.Layered = append(run.Layered, layers)
		run.Pages = append(run.Pages, []table.Page{
			{Path: "http/no-op-port", PerSecond: 43210}, {Path: "http/redis-batched", PerSecond: 32100}, {Path: "http/redis-pooled", PerSecond: 21000},
		})
		run.Handlers = append(run.Handlers, []table.Handler{{Handler: "handler/bare", Time: 0.05, Allocs: 0}, {Handler: "handler/limited", Time: 2.34, Allocs: 13}})
	}
	return run
}

// Ensure that the tables come between their markers, in place of what was there,
// and that all else stays.
func TestFill(t *testing.T) {
	once, err := Fill([]byte(template), plantedRun())
	if err != nil {
		t.Fatal(err)
	}
	text := string(once)
	for _, want := range []string{
		"# Title\n<!-- begin machine -->\nRun of 2026-11-30: 7 rounds", "Abacus",
		"| weir/fixed-window/batched | 1280001 |", "### One caller", "### 128 callers",
		"| redis_rate/admission | 6.50 |", "| 3 | 16.50 | 2.06 × | 2.28 × | 0.76 × |",
		"### Levels: one caller\n\n| levels |", "### Levels: 128 callers", "| 5 | 1152003 | 0 | 0 | 0.0 | 0.0 | 0.0 | 1 | 840 |", "| http/no-op-port | 43210 |", "| handler/limited | 2.34 | 13.0 |",
		"<!-- end claims -->\nbetween\n<!-- begin evaluations -->", "<!-- end handlers -->\nthe end\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\nold\n") {
		t.Error("what stood between the markers is still there")
	}
	twice, err := Fill(once, plantedRun())
	if err != nil || string(twice) != text {
		t.Errorf("filling it again changes it (%v):\n%s", err, twice)
	}
}

// Ensure that a page without a table's place is an error, and no table is lost
// in silence.
func TestFillNeedsMarkers(t *testing.T) {
	for _, name := range []string{"machine", "claims", "evaluations", "programs", "levels", "web", "handlers"} {
		for _, kind := range []string{"begin", "end"} {
			marker := fmt.Sprintf("<!-- %s %s -->\n", kind, name)
			if _, err := Fill([]byte(strings.Replace(template, marker, "", 1)), plantedRun()); err == nil {
				t.Errorf("no error without %s", marker)
			}
		}
	}
}

// Ensure that documents which are up to date pass, and that a figure which was
// typed by hand, or is from another run, does not.
func TestCheck(t *testing.T) {
	directory := t.TempDir()
	name := filepath.Join(directory, document)
	if err := os.WriteFile(name, []byte(template), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(directory, plantedRun()); err != nil {
		t.Fatal(err)
	}
	if err := Check(directory, plantedRun()); err != nil {
		t.Errorf("up to date: %v", err)
	}

	planted := func(file, shown, typed string) {
		t.Helper()
		file = filepath.Join(directory, file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(text), shown, typed, 1)
		if changed == string(text) {
			t.Fatalf("%s has no %q", file, shown)
		}
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Check(directory, plantedRun()); err == nil {
			t.Errorf("%s: %q in place of %q is no error", file, typed, shown)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	planted(document, "| 1280001 |", "| 1290001 |")
	planted(document, "| yes |", "| **no** |")
	planted(document, "2026-11-30", "2026-12-01")
	planted("performance/throughput.svg", ">1280001<", ">1290001<")
	planted("performance/latency.svg", ">7001<", ">6001<")
	planted(document, "| 2 | 12.00 | 1.50 × |", "| 2 | 12.00 | 1.40 × |")
	planted("performance/levels.svg", ">16.50<", ">15.50<")
	planted("performance/levels.svg", ">weir/layered/4/admission<", ">weir/layered/6/admission<")
	planted("performance/cpu.svg", ">weir/token-bucket/batched<", ">weir/leaky-bucket/batched<")
}
