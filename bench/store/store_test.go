package store

import (
	"maps"
	"testing"
	"time"
)

// Ensure that the server's counts are read by the commands' names, and that
// counts that cannot be read are not taken for zero.
func TestCalls(t *testing.T) {
	got, err := calls(map[string]string{
		"cmdstat_evalsha":     "calls=1234,usec=99,usec_per_call=0.08,rejected_calls=0,failed_calls=0",
		"cmdstat_script|load": "calls=2,usec=10",
	})
	if want := map[string]int64{"evalsha": 1234, "script|load": 2}; err != nil || !maps.Equal(got, want) {
		t.Errorf("calls are %v, %v; want %v", got, err, want)
	}
	for _, fields := range []string{"", "usec=5", "calls=", "calls=many,usec=1"} {
		if got, err := calls(map[string]string{"cmdstat_get": fields}); err == nil {
			t.Errorf("%q was read as %v", fields, got)
		}
	}
}

// Ensure that usage counts from another usage, also for commands that it did
// not know yet.
func TestUsageSince(t *testing.T) {
	before := Usage{CPU: time.Second, Calls: map[string]int64{"get": 3}}
	got := Usage{CPU: 1500 * time.Millisecond, Calls: map[string]int64{"get": 5, "eval": 1}}.Since(before)
	if got.CPU != 500*time.Millisecond || !maps.Equal(got.Calls, map[string]int64{"get": 2, "eval": 1}) {
		t.Errorf("usage is %+v", got)
	}
}
