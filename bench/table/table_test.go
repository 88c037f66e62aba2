package table

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Ensure that the median is the middle figure, in whatever order they come, and
// that figures stay in their order.
func TestMedian(t *testing.T) {
	for _, test := range []struct {
		figures []float64
		want    float64
	}{
		{[]float64{7}, 7},
		{[]float64{3, 1, 2}, 2},
		{[]float64{1, 1000, 2, -5, 3}, 2},
		{[]float64{4, 1, 3, 2}, 2}, // the lower of the middle two
		{[]float64{9, 8, 7, 6, 5, 4, 3}, 6},
	} {
		given := slices.Clone(test.figures)
		if got := Median(test.figures); got != test.want {
			t.Errorf("median of %v is %v, want %v", test.figures, got, test.want)
		}
		if !slices.Equal(given, test.figures) {
			t.Errorf("%v became %v", given, test.figures)
		}
	}
}

// Ensure that each figure has a median of its own, and that of what must not
// vary the worst is kept.
func TestMedianEvaluation(t *testing.T) {
	row := func(n float64) Evaluation {
		return Evaluation{
			Contender: "weir", Callers: 16, Subjects: 10,
			PerSecond: n, P50: 10 * n, P99: 100 * n, Client: 100 - n, Redis: 50 - n, Allocs: n + 1,
			BytesPerKey: int64(n), Admitted: 1 - n/1000, Errors: int64(n) / 3,
		}
	}
	got := MedianEvaluation([]Evaluation{row(3), row(1), row(2)})
	want := Evaluation{
		Contender: "weir", Callers: 16, Subjects: 10,
		PerSecond: 2, P50: 20, P99: 200, Client: 98, Redis: 48, Allocs: 3,
		BytesPerKey: 3, Admitted: 0.997, Errors: 1,
	}
	if got != want {
		t.Errorf("median is\n%+v, want\n%+v", got, want)
	}
}

// Ensure that of several levels each figure has a median too, and that one round
// with a command too many is kept.
func TestMedianLayered(t *testing.T) {
	row := func(n, commands float64) Layered {
		return Layered{Evaluation: Evaluation{Contender: "weir", PerSecond: n, BytesPerKey: int64(n)}, Levels: 2, Commands: commands}
	}
	got := MedianLayered([]Layered{row(3, 1), row(1, 1.5), row(2, 1)})
	want := Layered{Evaluation: Evaluation{Contender: "weir", PerSecond: 2, BytesPerKey: 3}, Levels: 2, Commands: 1.5}
	if got != want {
		t.Errorf("median is\n%+v, want\n%+v", got, want)
	}
}

// Ensure that what was measured in the same round is compared, and that nothing
// else is.
func TestCompare(t *testing.T) {
	rounds := Rounds[Program]{
		{{"a", 2}, {"b", 4}, {"c", 0}},
		{{"b", 3}, {"a", 6}},
	}
	redis := func(p Program) float64 { return p.Redis }
	named := func(name string) func(Program) bool { return func(p Program) bool { return p.Program == name } }
	if got := rounds.Figures(redis, named("a")); !slices.Equal(got, []float64{2, 6}) {
		t.Errorf("figures are %v", got)
	}
	if got := rounds.Figures(redis, func(p Program) bool { return p.Program != "a" }); !slices.Equal(got, []float64{4, 3}) {
		t.Errorf("first figures are %v", got)
	}
	if got, err := rounds.Ratios(redis, named("a"), named("b")); err != nil || !slices.Equal(got, []float64{0.5, 2}) {
		t.Errorf("ratios are %v, %v", got, err)
	}
	if got, err := ServerCPURatios(rounds, "b", "a"); err != nil || !slices.Equal(got, []float64{2, 0.5}) {
		t.Errorf("ratios of server CPU are %v, %v", got, err)
	}
	if got, err := rounds.Differences(redis, named("a"), named("b")); err != nil || !slices.Equal(got, []float64{-2, 3}) {
		t.Errorf("differences are %v, %v", got, err)
	}
	for _, other := range []string{"c", "d"} {
		if got, err := rounds.Ratios(redis, named("a"), named(other)); err == nil {
			t.Errorf("ratios to %s are %v", other, got)
		}
		if got, err := rounds.Differences(redis, named(other), named("a")); err == nil {
			t.Errorf("differences of %s are %v", other, got)
		}
	}
}

// Ensure that medians are taken row by row over the rounds.
func TestMedians(t *testing.T) {
	rounds := Rounds[Program]{
		{{"a", 1}, {"b", 30}},
		{{"a", 3}, {"b", 10}},
		{{"a", 2}, {"b", 20}},
	}
	if got := rounds.Medians(MedianProgram); !slices.Equal(got, []Program{{"a", 2}, {"b", 20}}) {
		t.Errorf("medians are %v", got)
	}
	if got := (Rounds[Program]{}).Medians(MedianProgram); len(got) != 0 {
		t.Errorf("medians of nothing are %v", got)
	}
}

// Ensure that a row of the results has exactly the fields that others read.
func TestEvaluationFields(t *testing.T) {
	text, err := json.Marshal(Evaluation{})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"admitted", "allocs", "bytes_per_key", "callers", "client_us", "contender", "errors",
		"p50_us", "p99_us", "per_second", "redis_us", "subjects",
	}
	if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, want) {
		t.Errorf("fields are %v, want %v", got, want)
	}
}

func plantedRun() Run {
	return Run{
		Machine:     Machine{Date: "2026-11-30", Cores: 2, Rounds: 3, Modules: map[string]string{"a": "v1"}},
		Evaluations: Rounds[Evaluation]{{{Contender: "a", PerSecond: 1}}, {{Contender: "a", PerSecond: 3}}, {{Contender: "a", PerSecond: 2}}},
		Layered: Rounds[Layered]{
			{{Evaluation: Evaluation{Contender: "l", PerSecond: 1}, Levels: 2, Commands: 1}},
			{{Evaluation: Evaluation{Contender: "l", PerSecond: 3}, Levels: 2, Commands: 1}},
			{{Evaluation: Evaluation{Contender: "l", PerSecond: 2}, Levels: 2, Commands: 1}},
		},
		Programs: Rounds[Program]{{{"p", 1}}, {{"p", 2}}, {{"p", 3}}},
		Pages:    Rounds[Page]{{{Path: "w", PerSecond: 5}}, {{Path: "w", PerSecond: 6}}, {{Path: "w", PerSecond: 7}}},
		Handlers: Rounds[Handler]{{{"h", 1, 2}}, {{"h", 1, 3}}, {{"h", 1, 4}}},
	}
}

// Ensure that what is written is read again.
func TestWriteAndRead(t *testing.T) {
	directory := t.TempDir()
	if err := Write(directory, plantedRun()); err != nil {
		t.Fatal(err)
	}
	read, err := Read(directory)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(read)
	want, _ := json.Marshal(plantedRun())
	if !bytes.Equal(got, want) {
		t.Errorf("read\n%s, want\n%s", got, want)
	}
}

// Ensure that medians which somebody has touched up are found out, as are files
// that are missing.
func TestReadRefuses(t *testing.T) {
	for _, name := range []string{resultsFile, layeredFile, programsFile, pagesFile, handlersFile} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			if err := Write(directory, plantedRun()); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(directory, name)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			touched := strings.NewReplacer("2", "9", "6", "9", "3", "9").Replace(string(text))
			if err := os.WriteFile(file, []byte(touched), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(directory); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("touched up: error is %v", err)
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(directory); err == nil {
				t.Error("its absence is no error")
			}
		})
	}
}
