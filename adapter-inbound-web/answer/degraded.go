package answer

import (
	"context"
	"log/slog"
	"net/http"

	"example.com/weir/shared-contract/ratelimit"
)

// DegradedField is the response header field that names the failure mode by which
// a request was treated, because its limits could not be decided. It is in the
// canonical form of net/http.
const DegradedField = "Weir-Degraded"

// Degrade says on w and in the log that r is treated by a failure mode, because
// failed came instead of a decision. Nothing is written, so that r can pass, or
// [Gate.AdmitLayers] says what was decided by other means. The log gets one line
// per second for each mode and category at most.
func (g *Gate) Degrade(w http.ResponseWriter, r *http.Request, mode string, failed ratelimit.LayeredOutcome) {
	w.Header()[DegradedField] = []string{mode}
	g.cors.passing(w.Header(), r, DegradedField)
	g.failures.degraded(r.Context(), mode, failed)
}

func (f *Failures) degraded(ctx context.Context, mode string, failed ratelimit.LayeredOutcome) {
	single, _ := failed.(ratelimit.Outcome) // as every failure
	problem, _ := failureProblem(single)
	suppressed, due := f.log.take(failureKind{mode, problem.Category})
	if !due {
		return
	}
	f.log.logger.LogAttrs(ctx, slog.LevelWarn, "limits could not be decided, so requests are treated by their failure mode",
		slog.String("mode", mode),
		slog.String("outcome", problem.Outcome),
		slog.String("category", string(problem.Category)),
		slog.String("policyId", problem.PolicyID),
		slog.Int64("suppressed", suppressed),
	)
}
