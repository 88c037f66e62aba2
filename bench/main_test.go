package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/weir/bench/claim"
	"example.com/weir/bench/measure"
	"example.com/weir/bench/page"
	"example.com/weir/bench/table"
)

// Ensure that docs/performance.md and its charts show the results, and that the
// results are the medians of the rounds.
func TestDocumentsShowTheResults(t *testing.T) {
	run, err := table.Read(results)
	if err != nil {
		t.Fatal(err)
	}
	if err := page.Check(documents, run); err != nil {
		t.Error(err)
	}
}

// Ensure that only a whole run replaces the results.
func TestIsWhole(t *testing.T) {
	for arguments, want := range map[string]bool{
		"":                                  true,
		"-rounds 7":                         true,
		"-rounds 21":                        true,
		"-contenders=":                      true,
		"-callers 1,16,128 -duration 600ms": true,
		"-rounds 5":                         false,
		"-callers 128":                      false,
		"-callers 1,16":                     false,
		"-contenders weir":                  false,
		"-duration 400ms":                   false,
	} {
		command, err := parseCommand(append([]string{"run", "-redis", "127.0.0.1:1"}, strings.Fields(arguments)...))
		if err != nil {
			t.Fatal(err)
		}
		if got := isWhole(command.plan); got != want {
			t.Errorf("%q is a whole run: %v, want %v", arguments, got, want)
		}
	}
}

// Ensure that fewer rounds are still enough for a claim, and never more than asked
// for.
func TestInFewerRounds(t *testing.T) {
	for asked, want := range map[int]int{1: 1, claim.MinRounds: claim.MinRounds, 15: claim.MinRounds} {
		if got := inFewerRounds(measure.Plan{Rounds: asked}).Rounds; got != want {
			t.Errorf("%d rounds become %d, want %d", asked, got, want)
		}
	}
}

// Ensure that a command line is understood.
func TestParseCommand(t *testing.T) {
	command, err := parseCommand(strings.Fields("run -redis 127.0.0.1:1 -rounds 3 -callers 8,9 -duration 20ms -contenders weir/fixed.*|ulule"))
	if err != nil {
		t.Fatal(err)
	}
	plan := command.plan
	if plan.Address != "127.0.0.1:1" || plan.Rounds != 3 || !slices.Equal(plan.Callers, []int{8, 9}) || plan.Duration != 20*time.Millisecond {
		t.Errorf("plan is %+v", plan)
	}
	for name, want := range map[string]bool{"weir/fixed-window/batched": true, "ulule": true, "redis_rate": false, "not/weir/fixed": false} {
		if got := plan.Only.MatchString(name); got != want {
			t.Errorf("%s is chosen: %v, want %v", name, got, want)
		}
	}
}

// Ensure that a wrong command line is refused with exit code 2 and says why.
func TestCommandLineRefusals(t *testing.T) {
	for arguments, want := range map[string]string{
		"":                             "a command must be given",
		"walk":                         "unknown command",
		"run":                          "-redis must be given",
		"run -redis a:1 -rounds 4":     "must be an odd number",
		"run -redis a:1 -rounds -1":    "must be an odd number",
		"run -redis a:1 -callers 1,x":  `"x" is not 1 to`,
		"run -redis a:1 -callers 0":    `"0" is not 1 to`,
		"run -redis a:1 -contenders (": "missing closing",
		"run -redis a:1 -duration 1ms": "must be 10ms to 1m",
		"run -redis a:1 fast":          "takes flags only",
		"check -rounds 3":              "not defined",
		"serve -path http/no-op-port":  "-redis must be given",
	} {
		var stdout, stderr bytes.Buffer
		code := execute(t.Context(), strings.Fields(arguments), strings.NewReader(""), &stdout, &stderr)
		if code != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%q: exit code %d, %q; want %d, %q", arguments, code, stderr.String(), exitUsage, want)
		}
	}
}
