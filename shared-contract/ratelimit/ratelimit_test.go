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

// Ensure that a catalog swaps whole snapshots, each immutable.
func TestCatalog(t *testing.T) {
	policy := func(id string) ratelimit.Policy {
		spec := valid()
		spec.ID = id
		p, err := ratelimit.NewPolicy(spec)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	given := []ratelimit.Policy{policy("b"), policy("a")}
	first, err := ratelimit.NewSnapshot(given...)
	if err != nil {
		t.Fatal(err)
	}
	given[0] = policy("x")
	first.Policies()[0] = policy("y")
	if ids := ids(first); !slices.Equal(ids, []string{"a", "b"}) {
		t.Errorf("snapshot holds %q", ids)
	}
	catalog := ratelimit.NewCatalog(first)
	held := catalog.Current()
	catalog.Replace(nil)
	if _, known := catalog.Current().Policy("a"); known || len(catalog.Current().Policies()) != 0 {
		t.Error("the empty snapshot knows a policy")
	}
	if _, known := held.Policy("a"); !known {
		t.Error("a snapshot that is held lost a policy")
	}
	if _, err := ratelimit.NewSnapshot(policy("a"), policy("a")); err == nil {
		t.Error("a policy was accepted twice")
	}
	if _, err := ratelimit.NewSnapshot(ratelimit.Policy{}); err == nil {
		t.Error("the zero policy was accepted")
	}
}

func ids(s *ratelimit.Snapshot) (ids []string) {
	for _, policy := range s.Policies() {
		ids = append(ids, policy.ID())
	}
	return ids
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
