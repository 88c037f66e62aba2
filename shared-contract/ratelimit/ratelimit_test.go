package ratelimit_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

const day = 24 * time.Hour

func valid() ratelimit.PolicySpec {
	return ratelimit.PolicySpec{
		ID:                 "edge-default",
		Revision:           1,
		Parameters:         ratelimit.FixedWindow{Limit: 100, Window: time.Minute},
		MaxCost:            10,
		CleanupGrace:       time.Minute,
		MaxClockRegression: 250 * time.Millisecond,
		FailurePolicy:      ratelimit.FailClosed,
	}
}

// Ensure that what can be an identifier is said in the words of all other checks.
func TestCheckIdentifier(t *testing.T) {
	if err := ratelimit.CheckIdentifier("per-user-2"); err != nil {
		t.Error(err)
	}
	if err := ratelimit.CheckIdentifier("Per user"); err == nil || err.Error() != "must match ^[a-z][a-z0-9-]{0,62}$" {
		t.Errorf("got %v", err)
	}
}

// Ensure that every bound of a policy is held, on both of its sides, and that a
// fault names its field.
func TestNewPolicy(t *testing.T) {
	with := func(edit func(*ratelimit.PolicySpec)) ratelimit.PolicySpec {
		spec := valid()
		edit(&spec)
		return spec
	}
	parameters := func(p ratelimit.Parameters) ratelimit.PolicySpec {
		return with(func(s *ratelimit.PolicySpec) { s.Parameters, s.MaxCost = p, 1 })
	}
	window := func(limit int64, window time.Duration) ratelimit.PolicySpec {
		return parameters(ratelimit.FixedWindow{Limit: limit, Window: window})
	}
	counter := func(limit int64, window time.Duration) ratelimit.PolicySpec {
		return parameters(ratelimit.SlidingCounter{Limit: limit, Window: window})
	}
	bucket := func(capacity, refill int64, interval time.Duration) ratelimit.PolicySpec {
		return parameters(ratelimit.TokenBucket{Capacity: capacity, RefillTokens: refill, RefillInterval: interval})
	}
	log := func(limit int64, window time.Duration) ratelimit.PolicySpec {
		return parameters(ratelimit.SlidingLog{Limit: limit, Window: window})
	}
	const scaled = 9_007_199_254
	for name, test := range map[string]struct {
		spec ratelimit.PolicySpec
		want []string // fields at fault
	}{
		"valid":                 {valid(), nil},
		"empty":                 {ratelimit.PolicySpec{}, []string{"id", "revision", "algorithm", "max-cost", "failure-policy"}},
		"shortest ID":           {with(func(s *ratelimit.PolicySpec) { s.ID = "a" }), nil},
		"longest ID":            {with(func(s *ratelimit.PolicySpec) { s.ID = "a" + strings.Repeat("-", 62) }), nil},
		"ID too long":           {with(func(s *ratelimit.PolicySpec) { s.ID = "a" + strings.Repeat("b", 63) }), []string{"id"}},
		"ID with a dot":         {with(func(s *ratelimit.PolicySpec) { s.ID = "a.b" }), []string{"id"}},
		"ID with a newline":     {with(func(s *ratelimit.PolicySpec) { s.ID = "a\n" }), []string{"id"}},
		"ID in capitals":        {with(func(s *ratelimit.PolicySpec) { s.ID = "A" }), []string{"id"}},
		"ID from a digit":       {with(func(s *ratelimit.PolicySpec) { s.ID = "1a" }), []string{"id"}},
		"revision zero":         {with(func(s *ratelimit.PolicySpec) { s.Revision = 0 }), []string{"revision"}},
		"cost zero":             {with(func(s *ratelimit.PolicySpec) { s.MaxCost = 0 }), []string{"max-cost"}},
		"cost negative":         {with(func(s *ratelimit.PolicySpec) { s.MaxCost = -1 }), []string{"max-cost"}},
		"cost the limit":        {with(func(s *ratelimit.PolicySpec) { s.MaxCost = 100 }), nil},
		"cost above the limit":  {with(func(s *ratelimit.PolicySpec) { s.MaxCost = 101 }), []string{"max-cost"}},
		"no regression":         {with(func(s *ratelimit.PolicySpec) { s.MaxClockRegression, s.CleanupGrace = 0, 0 }), nil},
		"regression negative":   {with(func(s *ratelimit.PolicySpec) { s.MaxClockRegression = -time.Millisecond }), []string{"max-clock-regression"}},
		"grace the regression":  {with(func(s *ratelimit.PolicySpec) { s.CleanupGrace = 250 * time.Millisecond }), nil},
		"grace below":           {with(func(s *ratelimit.PolicySpec) { s.CleanupGrace = 249 * time.Millisecond }), []string{"cleanup-grace"}},
		"longest grace":         {with(func(s *ratelimit.PolicySpec) { s.CleanupGrace = 30 * day }), nil},
		"grace too long":        {with(func(s *ratelimit.PolicySpec) { s.CleanupGrace = 30*day + time.Millisecond }), []string{"cleanup-grace"}},
		"grace in microseconds": {with(func(s *ratelimit.PolicySpec) { s.CleanupGrace = time.Minute + time.Microsecond }), []string{"cleanup-grace"}},
		"failure policy":        {with(func(s *ratelimit.PolicySpec) { s.FailurePolicy = 0 }), []string{"failure-policy"}},

		"smallest window":         {window(1, time.Millisecond), nil},
		"largest window":          {window(999_999_999_999_999, 3660*day), nil},
		"limit zero":              {window(0, time.Minute), []string{"limit"}},
		"limit negative":          {window(-5, time.Minute), []string{"limit"}},
		"limit too large":         {window(1_000_000_000_000_000, time.Minute), []string{"limit"}},
		"limit the largest int":   {window(math.MaxInt64, time.Minute), []string{"limit"}},
		"window zero":             {window(1, 0), []string{"window"}},
		"window negative":         {window(1, -time.Minute), []string{"window"}},
		"window too long":         {window(1, 3660*day+time.Millisecond), []string{"window"}},
		"window in microseconds":  {window(1, 1500*time.Microsecond), []string{"window"}},
		"half a second":           {window(1, 500*time.Millisecond), nil},
		"counter, largest":        {counter(scaled, scaled*time.Millisecond), nil},
		"counter, limit":          {counter(scaled+1, time.Minute), []string{"limit"}},
		"counter, window":         {counter(1, (scaled+1)*time.Millisecond), []string{"window"}},
		"counter, both zero":      {counter(0, 0), []string{"limit", "window"}},
		"log, smallest":           {log(1, time.Millisecond), nil},
		"log, largest":            {log(10_000, 3660*day), nil},
		"log, limit":              {log(10_001, time.Minute), []string{"limit"}},
		"log, window":             {log(1, 3660*day+time.Millisecond), []string{"window"}},
		"log, in microseconds":    {log(1, 1500*time.Microsecond), []string{"window"}},
		"log, both zero":          {log(0, 0), []string{"limit", "window"}},
		"bucket, smallest":        {bucket(1, 1, time.Millisecond), nil},
		"bucket, all zero":        {bucket(0, 0, 0), []string{"capacity", "refill-tokens", "refill-interval"}},
		"bucket, slowest":         {bucket(1, 1, 3660*day), nil},
		"bucket, exact":           {bucket(1<<53/1000, 1_000_000_000, time.Second), nil},
		"bucket, inexact":         {bucket(1<<53/1000+1, 1_000_000_000, time.Second), []string{"capacity"}},
		"bucket, fills too slow":  {bucket(2, 1, 3660*day), []string{"refill-interval"}},
		"bucket, both":            {bucket(999_999_999_999_999, 1, time.Hour), []string{"capacity", "refill-interval"}},
		"bucket, more than fills": {bucket(1, 1000, time.Second), nil},
	} {
		t.Run(name, func(t *testing.T) {
			policy, err := ratelimit.NewPolicy(test.spec)
			if policy.IsZero() != (err != nil) {
				t.Errorf("policy is zero: %v, error: %v", policy.IsZero(), err)
			}
			if got := fields(t, err); !slices.Equal(got, test.want) {
				t.Errorf("fields at fault are %q, must be %q (%v)", got, test.want, err)
			}
		})
	}
}

// fields are those that err blames; none for nil.
func fields(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var faults ratelimit.Faults
	if !errors.As(err, &faults) || len(faults) == 0 {
		t.Fatalf("error %v is no Faults", err)
	}
	var names []string
	for _, fault := range faults {
		if fault.Problem == "" {
			t.Errorf("%s has no problem", fault.Field)
		}
		names = append(names, fault.Field)
	}
	return names
}

// Ensure what each kind of parameters answers for headers.
func TestQuotaAndSpan(t *testing.T) {
	for name, test := range map[string]struct {
		parameters ratelimit.Parameters
		quota      int64
		span       time.Duration
	}{
		"fixed window":            {ratelimit.FixedWindow{Limit: 7, Window: time.Minute}, 7, time.Minute},
		"sliding counter":         {ratelimit.SlidingCounter{Limit: 7, Window: time.Minute}, 7, time.Minute},
		"sliding log":             {ratelimit.SlidingLog{Limit: 7, Window: time.Minute}, 7, time.Minute},
		"bucket":                  {ratelimit.TokenBucket{Capacity: 100, RefillTokens: 10, RefillInterval: time.Second}, 100, 10 * time.Second},
		"bucket, rounded up":      {ratelimit.TokenBucket{Capacity: 10, RefillTokens: 3, RefillInterval: time.Second}, 10, 3_333_333_334},
		"bucket, beyond duration": {ratelimit.TokenBucket{Capacity: math.MaxInt64, RefillTokens: 1, RefillInterval: time.Hour}, math.MaxInt64, math.MaxInt64},
	} {
		if test.parameters.Quota() != test.quota || test.parameters.Span() != test.span {
			t.Errorf("%s: %d in %v, must be %d in %v", name, test.parameters.Quota(), test.parameters.Span(), test.quota, test.span)
		}
	}
}

// Ensure which requests are valid.
func TestNewRequest(t *testing.T) {
	spec := ratelimit.RequestSpec{PolicyID: "p", Subject: pseudonym.Digest{1}, Cost: 1, EvaluationID: "e"}
	request, err := ratelimit.NewRequest(spec)
	if err != nil {
		t.Fatal(err)
	}
	if request.IsZero() || request.PolicyID() != "p" || request.Subject() != spec.Subject || request.Cost() != 1 || request.EvaluationID() != "e" {
		t.Errorf("request is %+v", request)
	}
	request, err = ratelimit.NewRequest(ratelimit.RequestSpec{Cost: -1, EvaluationID: strings.Repeat("e", 129)})
	if got := fields(t, err); !slices.Equal(got, []string{"policyId", "subject", "cost", "evaluationId"}) || !request.IsZero() {
		t.Errorf("fields at fault are %q", got)
	}
}

// Ensure what is certain, and which name each algorithm has.
func TestAlgorithms(t *testing.T) {
	for algorithm, test := range map[ratelimit.Algorithm]struct {
		parameters ratelimit.Parameters
		certainty  ratelimit.Certainty
	}{
		"fixed-window":    {ratelimit.FixedWindow{}, ratelimit.Certain},
		"sliding-counter": {ratelimit.SlidingCounter{}, ratelimit.ApproximateAlgorithm},
		"sliding-log":     {ratelimit.SlidingLog{}, ratelimit.Certain},
		"token-bucket":    {ratelimit.TokenBucket{}, ratelimit.Certain},
	} {
		if got := test.parameters.Algorithm(); got != algorithm || test.parameters.Certainty() != test.certainty {
			t.Errorf("%s is %s and %s, must be %s", algorithm, got, test.parameters.Certainty(), test.certainty)
		}
	}
}

// Ensure that another quota leaves all else of a policy as it is, except a maximum
// cost that the quota does not bear, and that a quota which the algorithm does not
// bear is refused.
func TestWithQuota(t *testing.T) {
	window, counter := ratelimit.FixedWindow{Limit: 100, Window: time.Minute}, ratelimit.SlidingCounter{Limit: 100, Window: time.Minute}
	log := ratelimit.SlidingLog{Limit: 100, Window: time.Minute}
	bucket := ratelimit.TokenBucket{Capacity: 100, RefillTokens: 7, RefillInterval: time.Second}
	for name, test := range map[string]struct {
		parameters ratelimit.Parameters
		quota      int64
		want       ratelimit.Parameters // nil if refused
		maxCost    int64
		fault      string
	}{
		"window raised":   {window, 999_999_999_999_999, ratelimit.FixedWindow{Limit: 999_999_999_999_999, Window: time.Minute}, 10, ""},
		"counter lowered": {counter, 10, ratelimit.SlidingCounter{Limit: 10, Window: time.Minute}, 10, ""},
		"log lowered":     {log, 9, ratelimit.SlidingLog{Limit: 9, Window: time.Minute}, 9, ""},
		"bucket to one":   {bucket, 1, ratelimit.TokenBucket{Capacity: 1, RefillTokens: 7, RefillInterval: time.Second}, 1, ""},
		"zero":            {window, 0, nil, 0, "limit"},
		"negative":        {bucket, -5, nil, 0, "capacity"},
		"log too large":   {log, 10_001, nil, 0, "limit"},
		"bucket inexact":  {bucket, 1 << 53 / 1000 * 2, nil, 0, "capacity"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := valid()
			spec.Parameters = test.parameters
			policy, err := ratelimit.NewPolicy(spec)
			if err != nil {
				t.Fatal(err)
			}
			changed, err := policy.WithQuota(test.quota)
			if test.want == nil {
				if got := fields(t, err); len(got) == 0 || got[0] != test.fault || !changed.IsZero() {
					t.Errorf("fields at fault are %q, must be of %s", got, test.fault)
				}
				return
			}
			spec.Parameters, spec.MaxCost = test.want, test.maxCost
			want, wantErr := ratelimit.NewPolicy(spec)
			if err != nil || wantErr != nil || changed != want {
				t.Errorf("policy is %+v, must be %+v (%v, %v)", changed, want, err, wantErr)
			}
		})
	}
}

func ExampleNewPolicy() {
	_, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID:            "Edge",
		Revision:      1,
		Parameters:    ratelimit.TokenBucket{Capacity: 10, RefillTokens: 1, RefillInterval: time.Second},
		MaxCost:       11,
		FailurePolicy: ratelimit.FailClosed,
	})
	var faults ratelimit.Faults
	if errors.As(err, &faults) {
		for _, fault := range faults {
			fmt.Println(fault)
		}
	}
	// Output:
	// id: must match ^[a-z][a-z0-9-]{0,62}$
	// max-cost: is 11, must be 1 to 10
}
