package redislimit_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/internal/fakeredis"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// levelReply is what a program answers for a level: a status, and for CLOCK_UNSAFE
// the wait in ms.
func levelReply(text string) string {
	const now = 1796000000000
	status, wait, _ := strings.Cut(text, " ")
	limit, left, retry, reset := 0, 0, 0, 0
	switch status {
	case "ALLOWED":
		limit, left, reset = 5, 4, now+1000
	case "DENIED":
		limit, retry, reset = 5, 1000, now+1000
	case "CLOCK_UNSAFE":
		retry, _ = strconv.Atoi(wait)
	}
	return fmt.Sprintf("%s:%d\r\n:%d\r\n:%d\r\n:%d\r\n:%d\r\n:%d\r\n", bulk(status), now, now, limit, left, retry, reset)
}

// Ensure that of several levels the one that is farthest from a decision is the
// outcome, by its name: a denial beside it decides nothing.
func TestGravestLevelIsTheOutcome(t *testing.T) {
	unsafe := func(policyID string, wait time.Duration) ratelimit.LayeredOutcome {
		return ratelimit.Unavailable{
			Unavailable: failure.Unavailable{Category: failure.ClockUnsafe, RetryAfter: wait}, PolicyID: policyID,
		}
	}
	incompatible := func(policyID string, category failure.Category) ratelimit.LayeredOutcome {
		return ratelimit.Incompatible{Incompatible: failure.Incompatible{Category: category}, PolicyID: policyID}
	}
	for name, test := range map[string]struct {
		user, team, org string
		want            ratelimit.LayeredOutcome
	}{
		"an unsafe clock beside admissions": {"ALLOWED", "CLOCK_UNSAFE 7", "ALLOWED", unsafe("team", 7*time.Millisecond)},
		"an unsafe clock beside a denial":   {"DENIED", "ALLOWED", "CLOCK_UNSAFE 7", unsafe("org", 7*time.Millisecond)},
		"the longest wait, first":           {"CLOCK_UNSAFE 9", "CLOCK_UNSAFE 7", "DENIED", unsafe("user", 9*time.Millisecond)},
		"the longest wait, last":            {"CLOCK_UNSAFE 7", "CLOCK_UNSAFE 8", "CLOCK_UNSAFE 9", unsafe("org", 9*time.Millisecond)},
		"equal waits":                       {"ALLOWED", "CLOCK_UNSAFE 7", "CLOCK_UNSAFE 7", unsafe("team", 7*time.Millisecond)},
		"state beside a denial":             {"DENIED", "STATE_INCOMPATIBLE", "DENIED", incompatible("team", failure.State)},
		"state beside an unsafe clock":      {"CLOCK_UNSAFE 7", "ALLOWED", "STATE_INCOMPATIBLE", incompatible("org", failure.State)},
		"an unsafe clock beside state":      {"STATE_INCOMPATIBLE", "CLOCK_UNSAFE 7", "ALLOWED", incompatible("user", failure.State)},
		"state twice":                       {"ALLOWED", "STATE_INCOMPATIBLE", "STATE_INCOMPATIBLE", incompatible("team", failure.State)},
		"an argument beside state":          {"STATE_INCOMPATIBLE", "INVALID", "CLOCK_UNSAFE 7", incompatible("team", failure.Protocol)},
		"state beside an argument":          {"INVALID", "STATE_INCOMPATIBLE", "DENIED", incompatible("user", failure.Protocol)},
		"a reply that is none":              {"ALLOWED", "PERHAPS", "STATE_INCOMPATIBLE", incompatible("", failure.Protocol)},
	} {
		t.Run(name, func(t *testing.T) {
			replies := levelReply(test.user) + levelReply(test.team) + levelReply(test.org)
			server := fakeredis.Start(t, fakeredis.Polite(func(string, []string) fakeredis.Reply {
				return fakeredis.Reply{Text: array(3*7, replies)}
			}))
			limiter := newLimiter(t, config(t, server.Addr, policySpec("user", endlessFive), policySpec("team", endlessFive), policySpec("org", endlessFive)))
			one := layeredRequest(t, "org", level(t, "user", "ada"), level(t, "team", "blue"), level(t, "org", "org"))
			if got := evaluateLayers(t, limiter, one); got != test.want {
				t.Errorf("outcome is %+v, must be %+v", got, test.want)
			}
		})
	}
}

// Ensure that a failure of the whole call is no level's, and that a level's is.
func TestFailuresOfLevelsNameThePolicy(t *testing.T) {
	for name, test := range map[string]struct {
		reply fakeredis.Reply
		want  ratelimit.LayeredOutcome
	}{
		"no reply": {fakeredis.Reply{Close: true}, ratelimit.Indeterminate{
			Indeterminate: failure.Indeterminate{Category: failure.NoReply, RetryAfter: time.Second},
		}},
		"refused": {fakeredis.Reply{Text: "-LOADING Redis is loading the dataset in memory\r\n"}, ratelimit.Unavailable{
			Unavailable: failure.Unavailable{Category: failure.StoreUnready, RetryAfter: time.Second},
		}},
		"the reply of one level": {fakeredis.Reply{Text: allowed}, ratelimit.Incompatible{
			Incompatible: failure.Incompatible{Category: failure.Protocol},
		}},
		"levels of two moments": {
			fakeredis.Reply{Text: array(2*7, levelReply("ALLOWED")+strings.Replace(levelReply("ALLOWED"), ":1796000000000", ":1795999999999", 1))},
			ratelimit.Incompatible{Incompatible: failure.Incompatible{Category: failure.Protocol}},
		},
		"another limit": {
			fakeredis.Reply{Text: array(2*7, levelReply("ALLOWED")+strings.Replace(levelReply("ALLOWED"), ":5\r\n", ":50\r\n", 1))},
			ratelimit.Incompatible{Incompatible: failure.Incompatible{Category: failure.Protocol}, PolicyID: "org"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := fakeredis.Start(t, fakeredis.Polite(func(string, []string) fakeredis.Reply { return test.reply }))
			limiter := newLimiter(t, config(t, server.Addr, policySpec("user", endlessFive), policySpec("org", endlessFive)))
			one := layeredRequest(t, "org", level(t, "user", "ada"), level(t, "org", "org"))
			if got := evaluateLayers(t, limiter, one); got != test.want {
				t.Errorf("outcome is %+v, must be %+v", got, test.want)
			}
		})
	}
}

// Ensure that a call of several levels which breaks the port's promises is refused
// before anything is sent, at whichever level.
func TestRefusesLevelsBeforeDispatch(t *testing.T) {
	server := fakeredis.Start(t, fakeredis.Polite(func(_ string, arguments []string) fakeredis.Reply {
		return fakeredis.Reply{Text: allowedAll(arguments)}
	}))
	spec := policySpec("org", endlessFive)
	spec.MaxCost = 3
	limiter := newLimiter(t, config(t, server.Addr, policySpec("user", endlessFive), spec))
	org := func(edit func(*ratelimit.Level)) ratelimit.LayeredRequest {
		one := level(t, "org", "org")
		edit(&one)
		return layeredRequest(t, "org", level(t, "user", "ada"), one)
	}
	invalid := func(policyID string) ratelimit.LayeredOutcome {
		return ratelimit.Unavailable{Unavailable: failure.Unavailable{Category: failure.InvalidRequest}, PolicyID: policyID}
	}
	for name, test := range map[string]struct {
		request ratelimit.LayeredRequest
		want    ratelimit.LayeredOutcome
	}{
		"zero request":             {ratelimit.LayeredRequest{}, invalid("")},
		"cost above the maximum":   {org(func(l *ratelimit.Level) { l.Cost = 4 }), invalid("org")},
		"cost above the limit":     {org(func(l *ratelimit.Level) { l.Cost, l.Limit = 2, 1 }), invalid("org")},
		"limit above the policy's": {org(func(l *ratelimit.Level) { l.Limit = 6 }), invalid("org")},
		"unknown policy": {org(func(l *ratelimit.Level) { l.PolicyID = "q" }), ratelimit.Incompatible{
			Incompatible: failure.Incompatible{Category: failure.UnknownPolicy}, PolicyID: "q",
		}},
	} {
		if got := evaluateLayers(t, limiter, test.request); got != test.want {
			t.Errorf("%s: outcome is %+v, must be %+v", name, got, test.want)
		}
	}
	if outcome := limiter.EvaluateLayers(t.Context(), org(func(*ratelimit.Level) {})); outcome != invalid("") {
		t.Errorf("no deadline: outcome is %+v", outcome)
	}
	if sent := server.Evaluations(); sent != 0 {
		t.Errorf("%d evaluations were sent", sent)
	}
	wantLabel(t, evaluateLayers(t, limiter, org(func(l *ratelimit.Level) { l.Cost, l.Limit = 3, 5 })), "allowed")
}
