package contender

import (
	"errors"
	"strings"
	"testing"

	"example.com/weir/bench/load"
	"example.com/weir/bench/store"
)

// Ensure that a measurement which is worth nothing is refused: with errors, with
// denials, or where the server has not done what was counted.
func TestCheck(t *testing.T) {
	one := Contender{Name: "one", Command: "evalsha", Trips: OneTrip}
	some := Contender{Name: "some", Command: "eval", Trips: SomeTrips}
	for name, test := range map[string]struct {
		contender Contender
		sample    load.Sample
		calls     map[string]int64
		want      string // empty for none
	}{
		"as many commands as decisions": {
			one, load.Sample{Decisions: 1000, Admitted: 1000}, map[string]int64{"evalsha": 1000, "info": 1}, "",
		},
		"a command too many": {
			one, load.Sample{Decisions: 1000, Admitted: 1000}, map[string]int64{"evalsha": 1001},
			"decided 1000 times, and the server saw 1001 evalsha",
		},
		"a decision that nobody made": {
			one, load.Sample{Decisions: 1000, Admitted: 1000}, map[string]int64{"evalsha": 999},
			"decided 1000 times, and the server saw 999 evalsha",
		},
		"another command": {
			one, load.Sample{Decisions: 1000, Admitted: 1000}, map[string]int64{"eval": 1000},
			"the server saw 0 evalsha",
		},
		"several commands where that is how it works": {
			some, load.Sample{Decisions: 1000, Admitted: 1000}, map[string]int64{"eval": 1500}, "",
		},
		"fewer commands than decisions": {
			some, load.Sample{Decisions: 1000, Admitted: 1000}, map[string]int64{"eval": 999},
			"the server saw only 999 eval",
		},
		"an error": {
			one, load.Sample{Decisions: 1000, Admitted: 999, Errors: 1, Err: errors.New("refused")},
			map[string]int64{"evalsha": 1000}, "1 errors, such as refused",
		},
		"1 % denied": {
			one, load.Sample{Decisions: 1000, Admitted: 990}, map[string]int64{"evalsha": 1000}, "",
		},
		"more than 1 % denied": {
			one, load.Sample{Decisions: 1000, Admitted: 989}, map[string]int64{"evalsha": 1000}, "admitted only 989 of 1000",
		},
		"nothing decided": {one, load.Sample{}, nil, "decided nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.contender.Check(test.sample, store.Usage{Calls: test.calls})
			switch {
			case test.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error is %v, want %q", err, test.want)
			}
		})
	}
}

// Ensure that every contender has a name of its own and says how it is checked,
// and that no two share keys.
func TestAll(t *testing.T) {
	names, keys := make(map[string]bool), make(map[string]bool)
	for _, one := range append(All(), AllLayered()...) {
		if names[one.Name] || one.Name == "" {
			t.Errorf("the name %q is not its own", one.Name)
		}
		if one.Keys != "" && keys[one.Keys] {
			t.Errorf("%s shares the keys %s", one.Name, one.Keys)
		}
		if one.Command == "" || one.Trips == 0 || one.Open == nil {
			t.Errorf("%s is not complete: %+v", one.Name, one)
		}
		names[one.Name], keys[one.Keys] = true, true
	}
}
