package locallimit_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/locallimit"
)

// Ensure that every bound is accepted, and what lies beyond it refused with the
// name of the field, all faults at once.
func TestNew(t *testing.T) {
	tests := []struct {
		name   string
		config locallimit.Config
		want   []string // "field: problem"
	}{
		{"the least", locallimit.Config{Limit: 1, Window: time.Millisecond, MaxSubjects: 1}, nil},
		{"the most", locallimit.Config{Limit: 1_000_000_000, Window: 31 * day, MaxSubjects: 10_000_000}, nil},
		{"nothing", locallimit.Config{}, []string{
			"limit: is 0, must be 1 to 1000000000",
			"window: is 0s, must be 1ms to 744h0m0s",
			"max-subjects: is 0, must be 1 to 10000000",
		}},
		{"negative", locallimit.Config{Limit: -1, Window: -time.Minute, MaxSubjects: -1}, []string{
			"limit: is -1, must be 1 to 1000000000",
			"window: is -1m0s, must be 1ms to 744h0m0s",
			"max-subjects: is -1, must be 1 to 10000000",
		}},
		{"one too many", locallimit.Config{Limit: 1_000_000_001, Window: 31*day + 1, MaxSubjects: 10_000_001}, []string{
			"limit: is 1000000001, must be 1 to 1000000000",
			"window: is 744h0m0.000000001s, must be 1ms to 744h0m0s",
			"max-subjects: is 10000001, must be 1 to 10000000",
		}},
		{"absurd", locallimit.Config{Limit: math.MaxInt, Window: math.MaxInt64, MaxSubjects: 1}, []string{
			"limit: is 9223372036854775807, must be 1 to 1000000000",
			"window: is 2562047h47m16.854775807s, must be 1ms to 744h0m0s",
		}},
		{"a number without a unit", locallimit.Config{Limit: 1, Window: 60, MaxSubjects: 1}, []string{
			"window: is 60ns, must be 1ms to 744h0m0s",
		}},
		{"a fraction of a millisecond", locallimit.Config{Limit: 1, Window: 1500 * time.Microsecond, MaxSubjects: 1}, []string{
			"window: is 1.5ms, must be a whole number of milliseconds",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			limiter, err := locallimit.New(test.config)
			if test.want == nil {
				if limiter == nil || err != nil {
					t.Errorf("got %v, want a limiter", err)
				}
				return
			}
			var faults locallimit.Faults
			if limiter != nil || !errors.As(err, &faults) {
				t.Fatalf("got %v, %v, want faults", limiter, err)
			}
			var got []string
			for _, fault := range faults {
				got = append(got, fault.Error())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
