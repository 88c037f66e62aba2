package answer

import (
	"context"
	"log/slog"
	"net/http"

	"example.com/weir/shared-contract/failure"
)

// Categories of an upstream's failure, for the log alone.
const (
	upstream                             = "upstream"
	upstreamUnusable    failure.Category = "unusable"
	upstreamNotAnswered failure.Category = "not-answered"
	upstreamBroken      failure.Category = "broken"
)

// Upstream answers requests that may pass and that the application behind does
// not answer. The rate-limit header fields that are set already stay: the
// request was charged. It is safe for concurrent use.
type Upstream struct {
	log  *failureLog
	cors *CORS
}

// NewUpstream logs the failures that it answers to logger: one line per second
// and kind at most. A nil logger means no lines.
func NewUpstream(logger *slog.Logger) *Upstream {
	return &Upstream{log: newFailureLog(logger)}
}

// AcrossOrigins returns an Upstream that shares the log of u and whose answers
// can be read by the pages that cors allows. Nil means those of no other origin.
// Which rate-limit header fields they may read, [Gate.Admit] has said.
func (u *Upstream) AcrossOrigins(cors *CORS) *Upstream {
	return &Upstream{log: u.log, cors: cors}
}

// Refuse answers r with problem, for what cannot be asked of the application.
func (u *Upstream) Refuse(w http.ResponseWriter, r *http.Request, problem Problem) {
	u.cors.readable(w.Header(), r)
	problem.Write(w, r)
}

// Unusable says that the application cannot be reached or speaks no HTTP (502).
// The document does not show err, which is for the operator.
func (u *Upstream) Unusable(w http.ResponseWriter, r *http.Request, err error) {
	u.answer(w, r, upstreamUnusable, err, ofStatus(http.StatusBadGateway, "The application cannot be reached."))
}

// NotAnswered says that the application did not answer in time (504).
func (u *Upstream) NotAnswered(w http.ResponseWriter, r *http.Request, err error) {
	u.answer(w, r, upstreamNotAnswered, err, ofStatus(http.StatusGatewayTimeout, "The application did not answer in time."))
}

// Broken notes that an answer of the application was not sent on to its end, when
// it is too late to answer anything else.
func (u *Upstream) Broken(problem string) {
	if suppressed, due := u.log.take(failureKind{upstream, upstreamBroken}); due {
		u.log.logger.Warn("the answer was not sent on to its end", "problem", problem, "suppressed", suppressed)
	}
}

func (u *Upstream) answer(w http.ResponseWriter, r *http.Request, category failure.Category, err error, problem Problem) {
	problem.CorrelationID = CorrelationID(r)
	u.report(r.Context(), category, problem.CorrelationID, err)
	u.cors.readable(w.Header(), r)
	problem.write(w)
}

func (u *Upstream) report(ctx context.Context, category failure.Category, correlationID string, err error) {
	suppressed, due := u.log.take(failureKind{upstream, category})
	if !due {
		return
	}
	u.log.logger.LogAttrs(ctx, slog.LevelWarn, "the upstream failed",
		slog.String("category", string(category)),
		slog.Any("error", err),
		slog.String("correlationId", correlationID),
		slog.Int64("suppressed", suppressed),
	)
}

// NotTunneled says that the request asks for a connection to somewhere else
// (CONNECT), which a gateway to one application does not make (501).
func NotTunneled() Problem {
	return ofStatus(http.StatusNotImplemented, "This is no proxy to other servers.")
}
