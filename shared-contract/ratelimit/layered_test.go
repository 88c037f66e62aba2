package ratelimit_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// userOfTenant are two valid levels under the root that the second one is.
func userOfTenant() ratelimit.LayeredRequestSpec {
	return ratelimit.LayeredRequestSpec{
		Root: pseudonym.Digest{9},
		Levels: []ratelimit.Level{
			{Name: "user", PolicyID: "per-user", Subject: pseudonym.Digest{1}, Cost: 1},
			{Name: "tenant", PolicyID: "per-tenant", Subject: pseudonym.Digest{9}, Cost: 2, Limit: 3},
		},
	}
}

// Ensure that every fault of a layered request is named with its level, and that
// two levels never are one counter.
func TestNewLayeredRequest(t *testing.T) {
	with := func(edit func(*ratelimit.LayeredRequestSpec)) ratelimit.LayeredRequestSpec {
		spec := userOfTenant()
		edit(&spec)
		return spec
	}
	user := func(edit func(*ratelimit.Level)) ratelimit.LayeredRequestSpec {
		return with(func(s *ratelimit.LayeredRequestSpec) { edit(&s.Levels[0]) })
	}
	levels := func(n int) ratelimit.LayeredRequestSpec {
		return with(func(s *ratelimit.LayeredRequestSpec) {
			s.Levels = nil
			for i := range n {
				s.Levels = append(s.Levels, ratelimit.Level{
					Name: "level-" + string(rune('a'+i)), PolicyID: "p", Subject: pseudonym.Digest{byte(i + 1)}, Cost: 1,
				})
			}
		})
	}
	// beside has two levels for one subject under one policy.
	beside := func(subject, root byte, firstShared, secondShared bool) ratelimit.LayeredRequestSpec {
		return with(func(s *ratelimit.LayeredRequestSpec) {
			s.Root = pseudonym.Digest{root}
			for i, shared := range []bool{firstShared, secondShared} {
				s.Levels[i].PolicyID, s.Levels[i].Subject, s.Levels[i].Shared = "p", pseudonym.Digest{subject}, shared
			}
		})
	}
	for name, test := range map[string]struct {
		spec ratelimit.LayeredRequestSpec
		want []string // fields at fault
	}{
		"valid":                {userOfTenant(), nil},
		"empty":                {ratelimit.LayeredRequestSpec{}, []string{"root", "levels"}},
		"no root":              {with(func(s *ratelimit.LayeredRequestSpec) { s.Root = pseudonym.Digest{} }), []string{"root"}},
		"root is no level's":   {with(func(s *ratelimit.LayeredRequestSpec) { s.Root = pseudonym.Digest{7} }), nil},
		"no level":             {levels(0), []string{"levels"}},
		"one level":            {levels(1), nil},
		"eight levels":         {levels(8), nil},
		"nine levels":          {levels(9), []string{"levels"}},
		"longest name":         {user(func(l *ratelimit.Level) { l.Name = "a" + strings.Repeat("-", 62) }), nil},
		"no name":              {user(func(l *ratelimit.Level) { l.Name = "" }), []string{"levels[0].name"}},
		"name too long":        {user(func(l *ratelimit.Level) { l.Name = "a" + strings.Repeat("b", 63) }), []string{"levels[0].name"}},
		"name in capitals":     {user(func(l *ratelimit.Level) { l.Name = "User" }), []string{"levels[0].name"}},
		"name with a newline":  {user(func(l *ratelimit.Level) { l.Name = "user\n" }), []string{"levels[0].name"}},
		"no policy":            {user(func(l *ratelimit.Level) { l.PolicyID = "" }), []string{"levels[0].policyId"}},
		"no subject":           {user(func(l *ratelimit.Level) { l.Subject = pseudonym.Digest{} }), []string{"levels[0].subject"}},
		"no cost":              {user(func(l *ratelimit.Level) { l.Cost = 0 }), []string{"levels[0].cost"}},
		"negative cost":        {user(func(l *ratelimit.Level) { l.Cost = -1 }), []string{"levels[0].cost"}},
		"largest cost":         {user(func(l *ratelimit.Level) { l.Cost = ratelimit.MaxQuota }), nil},
		"cost too large":       {user(func(l *ratelimit.Level) { l.Cost = ratelimit.MaxQuota + 1 }), []string{"levels[0].cost"}},
		"negative limit":       {user(func(l *ratelimit.Level) { l.Limit = -1 }), []string{"levels[0].limit"}},
		"largest limit":        {user(func(l *ratelimit.Level) { l.Limit = ratelimit.MaxQuota }), nil},
		"limit too large":      {user(func(l *ratelimit.Level) { l.Limit = ratelimit.MaxQuota + 1 }), []string{"levels[0].limit"}},
		"faults of all levels": {with(func(s *ratelimit.LayeredRequestSpec) { s.Levels[0].Cost, s.Levels[1].PolicyID = 0, "P" }), []string{"levels[0].cost", "levels[1].policyId"}},
		"a name twice":         {user(func(l *ratelimit.Level) { l.Name = "tenant" }), []string{"levels[1].name"}},
		"a name thrice": {with(func(s *ratelimit.LayeredRequestSpec) {
			s.Levels = append(s.Levels, ratelimit.Level{Name: "user", PolicyID: "p", Subject: pseudonym.Digest{3}, Cost: 1})
			s.Levels[1].Name = "user"
		}), []string{"levels[1].name", "levels[2].name"}},
		"a name and a counter twice": {with(func(s *ratelimit.LayeredRequestSpec) { s.Levels[1] = s.Levels[0] }), []string{"levels[1].name", "levels[1].subject"}},

		"a subject under two policies":              {user(func(l *ratelimit.Level) { l.Subject = pseudonym.Digest{9} }), nil},
		"two subjects under one policy":             {user(func(l *ratelimit.Level) { l.PolicyID = "per-tenant" }), nil},
		"a counter twice":                           {beside(1, 9, false, false), []string{"levels[1].subject"}},
		"a shared counter twice":                    {beside(1, 9, true, true), []string{"levels[1].subject"}},
		"a subject shared and under the root":       {beside(1, 9, true, false), nil},
		"the root's counter twice":                  {beside(9, 9, false, false), []string{"levels[1].subject"}},
		"the root's counter, once as a shared one":  {beside(9, 9, true, false), []string{"levels[1].subject"}},
		"the root's counter, then as a shared one":  {beside(9, 9, false, true), []string{"levels[1].subject"}},
		"the root's counter, twice as a shared one": {beside(9, 9, true, true), []string{"levels[1].subject"}},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := ratelimit.NewLayeredRequest(test.spec)
			if request.IsZero() != (err != nil) {
				t.Errorf("request is zero: %v, error: %v", request.IsZero(), err)
			}
			if got := fields(t, err); !slices.Equal(got, test.want) {
				t.Errorf("fields at fault are %q, must be %q (%v)", got, test.want, err)
			}
		})
	}
}

// Ensure that a layered request hands on what it was made of, in order, and keeps
// it whatever becomes of the specification.
func TestLayeredRequest(t *testing.T) {
	spec := userOfTenant()
	request, err := ratelimit.NewLayeredRequest(spec)
	if err != nil {
		t.Fatal(err)
	}
	spec.Levels[0].Cost = -1
	want := userOfTenant()
	if request.IsZero() || request.Root() != want.Root || request.Len() != len(want.Levels) {
		t.Errorf("request is %+v", request)
	}
	var levels []ratelimit.Level
	for i, level := range request.Levels() {
		if i != len(levels) {
			t.Errorf("level %d is told as level %d", len(levels), i)
		}
		levels = append(levels, level)
	}
	if !slices.Equal(levels, want.Levels) {
		t.Errorf("levels are %+v, must be %+v", levels, want.Levels)
	}
	if !(ratelimit.LayeredRequest{}).IsZero() {
		t.Error("the zero request is valid")
	}
}

// Ensure whose subject is the root where nobody names one.
func TestDefaultRoot(t *testing.T) {
	own, shared := ratelimit.Level{}, ratelimit.Level{Shared: true}
	for name, test := range map[string]struct {
		levels []ratelimit.Level
		want   int
	}{
		"no levels":                   {nil, -1},
		"one":                         {[]ratelimit.Level{own}, 0},
		"the last":                    {[]ratelimit.Level{own, own, own}, 2},
		"the last that is not shared": {[]ratelimit.Level{own, own, shared, shared}, 1},
		"the only that is not shared": {[]ratelimit.Level{own, shared}, 0},
		"the last, behind a shared":   {[]ratelimit.Level{own, shared, own}, 2},
		"the last, since all are so":  {[]ratelimit.Level{shared, shared}, 1},
	} {
		if got := ratelimit.DefaultRoot(test.levels); got != test.want {
			t.Errorf("%s: got %d, must be %d", name, got, test.want)
		}
	}
}

// Ensure under whom a level is counted.
func TestScope(t *testing.T) {
	spec := userOfTenant()
	spec.Levels[0].Shared = true
	spec.Levels = append(spec.Levels, ratelimit.Level{Name: "route", PolicyID: "per-route", Subject: pseudonym.Digest{5}, Cost: 1})
	request, err := ratelimit.NewLayeredRequest(spec)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]pseudonym.Digest{"user": {1}, "tenant": {9}, "route": {9}}
	for _, level := range request.Levels() {
		if got := request.Scope(level); got != want[level.Name] {
			t.Errorf("level %s is counted under %v, must be under %v", level.Name, got[0], want[level.Name][0])
		}
	}
}

// Ensure which limits and costs a policy of 100 units, 10 at once, bears.
func TestEffectivePolicy(t *testing.T) {
	for name, test := range map[string]struct {
		limit, cost    int64
		quota, maxCost int64
		want           []string // fields at fault
	}{
		"no limit":                 {0, 10, 100, 10, nil},
		"no limit, too dear":       {0, 11, 0, 0, []string{"cost"}},
		"lower":                    {50, 10, 50, 10, nil},
		"lower, too dear":          {50, 11, 0, 0, []string{"cost"}},
		"below the maximum cost":   {5, 5, 5, 5, nil},
		"below the cost":           {5, 6, 0, 0, []string{"cost"}},
		"least":                    {1, 1, 1, 1, nil},
		"as high as the policy's":  {100, 10, 100, 10, nil},
		"higher than the policy's": {101, 1, 0, 0, []string{"limit"}},
	} {
		policy := named(t, "a")
		effective, err := ratelimit.Level{Limit: test.limit, Cost: test.cost}.Effective(policy)
		if got := fields(t, err); !slices.Equal(got, test.want) {
			t.Errorf("%s: fields at fault are %q, must be %q", name, got, test.want)
		}
		if err != nil {
			continue
		}
		if effective.Quota() != test.quota || effective.MaxCost() != test.maxCost || effective.Revision() != policy.Revision() {
			t.Errorf("%s: policy is %+v, must have %d units and %d at once", name, effective, test.quota, test.maxCost)
		}
	}
}

// Ensure that a level's limit, which comes with each request, allocates no more than
// the parameters that it changes.
func TestEffectivePolicyIsCheap(t *testing.T) {
	policy, level := named(t, "a"), ratelimit.Level{Limit: 50, Cost: 1}
	if got := testing.AllocsPerRun(100, func() { _, _ = level.Effective(policy) }); got > 1 {
		t.Errorf("it allocates %v times, must be once at most", got)
	}
}

// Ensure what levels say together.
func TestLayeredDecision(t *testing.T) {
	level := func(name string, allowed bool, remaining int64, retryAfter time.Duration) ratelimit.LevelDecision {
		return ratelimit.LevelDecision{
			Decision: ratelimit.Decision{Allowed: allowed, Remaining: remaining, RetryAfter: retryAfter}, Level: name,
		}
	}
	for name, test := range map[string]struct {
		levels     []ratelimit.LevelDecision
		allowed    bool
		refusedBy  []string
		remaining  int64
		retryAfter time.Duration
	}{
		"no levels": {},
		"one that admits": {
			levels: []ratelimit.LevelDecision{level("a", true, 7, 0)}, allowed: true, remaining: 7,
		},
		"all admit": {
			levels:  []ratelimit.LevelDecision{level("a", true, 7, 0), level("b", true, 3, 0), level("c", true, 9, 0)},
			allowed: true, remaining: 3,
		},
		"the first refuses": {
			levels:    []ratelimit.LevelDecision{level("a", false, 0, time.Second), level("b", true, 3, 0)},
			refusedBy: []string{"a"}, retryAfter: time.Second,
		},
		"the last refuses, with units left": {
			levels:    []ratelimit.LevelDecision{level("a", true, 3, 0), level("b", false, 2, time.Second)},
			refusedBy: []string{"b"}, remaining: 2, retryAfter: time.Second,
		},
		"several refuse": {
			levels: []ratelimit.LevelDecision{
				level("c", false, 0, time.Second), level("b", true, 3, 0), level("a", false, 1, time.Minute), level("d", false, 1, time.Millisecond),
			},
			refusedBy: []string{"c", "a", "d"}, retryAfter: time.Minute,
		},
		"an admission that says a wait, against the rules": {
			levels:    []ratelimit.LevelDecision{level("a", true, 1, time.Hour), level("b", false, 1, time.Second)},
			refusedBy: []string{"b"}, remaining: 1, retryAfter: time.Second,
		},
	} {
		decision := ratelimit.LayeredDecision{Levels: test.levels}
		if decision.Allowed() != test.allowed || !slices.Equal(decision.RefusedBy(), test.refusedBy) {
			t.Errorf("%s: allowed is %v, refused by %q", name, decision.Allowed(), decision.RefusedBy())
		}
		if decision.Remaining() != test.remaining || decision.RetryAfter() != test.retryAfter {
			t.Errorf("%s: %d remain and the wait is %v, must be %d and %v",
				name, decision.Remaining(), decision.RetryAfter(), test.remaining, test.retryAfter)
		}
	}
}
