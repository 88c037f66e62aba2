package answer

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/ratelimit"
)

// Types and titles of problems, from the IANA registrations in
// draft-ietf-httpapi-ratelimit-headers-11.
const (
	typeQuotaExceeded            = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	titleQuotaExceeded           = "Quota Exceeded"
	typeTemporaryReducedCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
	titleReducedCapacity         = "Temporary Reduced Capacity"
)

const fieldRetryAfter = "Retry-After"

// Outcomes as problem documents and log lines name them.
const (
	unavailable   = "unavailable"
	indeterminate = "indeterminate"
	incompatible  = "incompatible"
)

// Failures answers evaluations that came to no decision. It is safe for
// concurrent use.
type Failures struct {
	log *failureLog
}

// NewFailures logs the failures that it answers to logger: one line per second
// for each outcome and category at most. A nil logger means no lines.
func NewFailures(logger *slog.Logger) *Failures {
	return &Failures{log: newFailureLog(logger)}
}

// Decided returns the decision in outcome, which may be a denial, and true.
// When there is none it answers r with the failure and returns false.
func (f *Failures) Decided(w http.ResponseWriter, r *http.Request, outcome ratelimit.Outcome) (ratelimit.Decision, bool) {
	if decision, ok := decisionOf(outcome); ok {
		return decision, true
	}
	f.write(w, r, outcome)
	return ratelimit.Decision{}, false
}

// decisionOf finds the decision in outcome. A decision without a policy is none:
// nothing can be said about it.
func decisionOf(outcome ratelimit.Outcome) (ratelimit.Decision, bool) {
	if evaluated, ok := outcome.(ratelimit.Evaluated); ok && !evaluated.Decision.Policy.IsZero() {
		return evaluated.Decision, true
	}
	return ratelimit.Decision{}, false
}

// DecidedLayers is [Failures.Decided] for several levels. A decision without
// levels, or with one that has no policy, is none.
func (f *Failures) DecidedLayers(w http.ResponseWriter, r *http.Request, outcome ratelimit.LayeredOutcome) (ratelimit.LayeredDecision, bool) {
	if decision, ok := layeredDecisionOf(outcome); ok {
		return decision, true
	}
	single, _ := outcome.(ratelimit.Outcome) // as every failure; a decision becomes nil
	f.write(w, r, single)
	return ratelimit.LayeredDecision{}, false
}

// OnlyIfAnswering is outcome, or nil, which is answered as a broken adapter's, if it is a
// decision of other levels than those of request.
func OnlyIfAnswering(request ratelimit.LayeredRequest, outcome ratelimit.LayeredOutcome) ratelimit.LayeredOutcome {
	if evaluated, ok := outcome.(ratelimit.LayeredEvaluated); ok && !evaluated.Decision.Answers(request) {
		return nil
	}
	return outcome
}

// layeredDecisionOf finds the decision in outcome.
func layeredDecisionOf(outcome ratelimit.LayeredOutcome) (ratelimit.LayeredDecision, bool) {
	evaluated, ok := outcome.(ratelimit.LayeredEvaluated)
	if !ok || len(evaluated.Decision.Levels) == 0 {
		return ratelimit.LayeredDecision{}, false
	}
	for _, level := range evaluated.Decision.Levels {
		if level.Policy.IsZero() {
			return ratelimit.LayeredDecision{}, false
		}
	}
	return evaluated.Decision, true
}

// write answers r with the failure that outcome is.
func (f *Failures) write(w http.ResponseWriter, r *http.Request, outcome ratelimit.Outcome) {
	problem, level := failureProblem(outcome)
	problem.CorrelationID = CorrelationID(r)
	f.log.report(r.Context(), level, problem)
	problem.write(w)
}

func failureProblem(outcome ratelimit.Outcome) (Problem, slog.Level) {
	switch o := outcome.(type) {
	case ratelimit.Unavailable:
		p := reducedCapacity(unavailable, o.Category, o.PolicyID, o.RetryAfter)
		p.Detail = "The request could not be decided. Nothing was charged."
		return p, slog.LevelWarn
	case ratelimit.Indeterminate:
		p := reducedCapacity(indeterminate, o.Category, o.PolicyID, o.RetryAfter)
		p.Detail = "The request could not be decided in time. It may have been charged."
		return p, slog.LevelWarn
	case ratelimit.Incompatible:
		return needsOperator(o.Category, o.PolicyID, o.RetryAfter), slog.LevelError
	case ratelimit.Evaluated:
		return brokenAdapter(), slog.LevelError // a decision of no policy
	default:
		return brokenAdapter(), slog.LevelError // nil, a pointer or a foreign type
	}
}

func reducedCapacity(outcome string, category failure.Category, policyID string, retryAfter time.Duration) Problem {
	p := undecided(outcome, category, policyID, retryAfter)
	p.Type, p.Title = typeTemporaryReducedCapacity, titleReducedCapacity
	if policyID != "" {
		p.ViolatedPolicies = []string{policyID}
	}
	return p.withField(fieldRetryAfter, retryAfterValue(retryAfter))
}

// needsOperator promises no time after which all is well, unless one is known.
func needsOperator(category failure.Category, policyID string, retryAfter time.Duration) Problem {
	p := undecided(incompatible, category, policyID, retryAfter)
	p.Detail = "The request could not be decided, and will not be until an operator acts."
	if retryAfter > 0 {
		p = p.withField(fieldRetryAfter, retryAfterValue(retryAfter))
	}
	return p
}

// brokenAdapter answers what no adapter may return.
func brokenAdapter() Problem { return needsOperator(failure.Protocol, "", 0) }

func undecided(outcome string, category failure.Category, policyID string, retryAfter time.Duration) Problem {
	p := ofStatus(http.StatusServiceUnavailable, "")
	p.Outcome, p.Category, p.PolicyID = outcome, category, policyID
	p.RetryAfterMillis = new(Milliseconds(retryAfter))
	return p
}

func retryAfterValue(d time.Duration) string {
	return strconv.FormatInt(retryAfterSeconds(d), 10)
}

// retryAfterSeconds is what Retry-After says: at least a second, since "0"
// invites the client to come back at once.
func retryAfterSeconds(d time.Duration) int64 { return max(1, seconds(d)) }
