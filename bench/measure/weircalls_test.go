package measure

import (
	"slices"
	"strings"
	"testing"

	"example.com/weir/bench/contender"
	"example.com/weir/lua"
)

// Ensure that each call has a name and keys of its own, and as many levels as its
// name says.
func TestWeirCalls(t *testing.T) {
	names, policies := make(map[string]bool), make(map[string]bool)
	for _, call := range weirCalls() {
		if names[call.name] {
			t.Errorf("the name %q is not its own", call.name)
		}
		names[call.name] = true
		for _, level := range call.levels {
			if policies[level.policy.ID] {
				t.Errorf("%s shares the keys of %s", call.name, level.policy.ID)
			}
			policies[level.policy.ID] = true
		}
		if several := call.program.Name == lua.Layered().Name; several != strings.HasPrefix(call.name, "weir/layered/") {
			t.Errorf("%s is the program %s", call.name, call.program.Name)
		}
		if len(call.arguments()) != len(call.levels) {
			t.Errorf("%s has %d arguments for %d levels", call.name, len(call.arguments()), len(call.levels))
		}
	}
	for count := 1; count <= contender.MostLevels; count++ {
		name := contender.LayeredProgram(count)
		at := slices.IndexFunc(weirCalls(), func(c weirCall) bool { return c.name == name })
		if at < 0 || len(weirCalls()[at].levels) != count {
			t.Errorf("%s is not called with %d levels", name, count)
		}
	}
}

// Ensure that only a reply in which every level has its answer is taken for one.
func TestWeirCallKnowsItsReply(t *testing.T) {
	answers := func(answer string) []any {
		return []any{answer, int64(1), int64(1), int64(10), int64(9), int64(0), int64(2)}
	}
	call := weirCall{levels: []level{{answer: denial}, {answer: admission}}}
	for name, test := range map[string]struct {
		reply []any
		want  bool
	}{
		"its answers":               {slices.Concat(answers(denial), answers(admission)), true},
		"another first answer":      {slices.Concat(answers(admission), answers(admission)), false},
		"another last answer":       {slices.Concat(answers(denial), answers(denial)), false},
		"a level that is missing":   {answers(denial), false},
		"more than the levels have": {slices.Concat(answers(denial), answers(admission), []any{int64(0)}), false},
		"nothing":                   {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := call.is(test.reply); got != test.want {
				t.Errorf("it is its reply: %v, want %v", got, test.want)
			}
		})
	}
}

// Ensure that the keys of one root come together, in the order of the levels, and
// that a root with a key too few or too many is left out.
func TestByRoot(t *testing.T) {
	got := byRoot([][]string{
		{"p:{b}:1", "p:{a}:2", "p:{c}:3", "p:{d}:4"},
		{"q:{a}:5", "q:{b}:6", "q:{d}:7", "q:{d}:8", "q:{e}:9"},
	})
	want := [][]string{{"p:{b}:1", "q:{b}:6"}, {"p:{a}:2", "q:{a}:5"}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("keys are %v, want %v", got, want)
	}
}
