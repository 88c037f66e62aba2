package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/adapter-inbound-web/edge"
)

// flushAfter is how long a part of an answer of known length may lie in a buffer.
// Answers of unknown length, event streams among them, are not held at all.
const flushAfter = 10 * time.Millisecond

// Gateway sends requests on to the application. It is safe for concurrent use.
// [New] makes one; [Gateway.Close] ends it.
type Gateway struct {
	upstream  *url.URL
	transport *transport
	proxy     *httputil.ReverseProxy
	client    clientFields
	health    *url.URL // nil without a health path
	// probe is of its own: http.Transport changes the one that it is given.
	probe    *tls.Config
	failures *answer.Upstream
	logger   *slog.Logger
}

var _ http.Handler = (*Gateway)(nil)

// New returns a gateway that has not connected yet, or the [ratelimit.Faults] of
// config.
func New(config Config) (*Gateway, error) {
	upstream, err := config.check()
	if err != nil {
		return nil, err
	}
	logger := config.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	g := &Gateway{
		upstream:  upstream,
		transport: newTransport(config),
		client:    newClientFields(config),
		health:    healthTarget(upstream, config.HealthPath),
		probe:     tlsConfig(config),
		failures:  answer.NewUpstream(logger).AcrossOrigins(config.CORS),
		logger:    logger,
	}
	g.proxy = &httputil.ReverseProxy{
		Rewrite:        g.rewrite,
		ModifyResponse: g.modify,
		ErrorHandler:   g.fail,
		Transport:      g.transport,
		FlushInterval:  flushAfter,
		BufferPool:     new(buffers),
		ErrorLog:       log.New(errorLog{g.failures}, "", 0),
	}
	return g, nil
}

// Close gives up the connections that are idle. Requests may still run, and their
// connections are not kept.
func (g *Gateway) Close() { g.transport.close() }

// ServeHTTP sends r on and answers with what comes back.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		g.failures.Refuse(w, r, answer.NotTunneled())
		return
	}
	if !isVisible(r.Header["Upgrade"]) {
		g.failures.Refuse(w, r, answer.BadRequest("The Upgrade header cannot be read."))
		return
	}
	p := &passage{header: w.Header(), decided: maps.Clone(w.Header())}
	r = r.WithContext(context.WithValue(r.Context(), passageKey{}, p))
	if r.Body != nil && r.ContentLength != 0 {
		p.body = &clientBody{ReadCloser: r.Body}
		r.Body = p.body
		p.duplex = isLong(r) && http.NewResponseController(w).EnableFullDuplex() == nil
	}
	g.proxy.ServeHTTP(w, r)
}

// isLong reports whether an answer to r should be able to begin before r has
// ended, which HTTP/1 has to be asked for. net/http itself waits for content that
// is not long.
func isLong(r *http.Request) bool {
	const long = 256 << 10
	return r.ProtoMajor == 1 && (r.ContentLength < 0 || r.ContentLength > long)
}

func isVisible(values []string) bool {
	for _, value := range values {
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			return false
		}
	}
	return true
}

// rewrite makes the request to the application. Hop-by-hop fields are gone from
// it already, so a client cannot name one of those below as such a field.
func (g *Gateway) rewrite(r *httputil.ProxyRequest) {
	forwardTarget(r.Out.URL, r.In)
	r.Out.URL.Scheme, r.Out.URL.Host = g.upstream.Scheme, g.upstream.Host
	removeAmbiguousFields(r.Out.Header)
	removeLimiterFields(r.Out.Header)
	removeHiddenUpgrade(r.Out.Header)
	r.Out.Header.Set(answer.RequestIDField, answer.CorrelationID(r.In))
	g.client.write(r.Out.Header, r.In)
}

// modify changes the answer of the application.
func (g *Gateway) modify(response *http.Response) error {
	ctx := response.Request.Context()
	p := passageOf(ctx)
	p.prepare()
	degraded := p.decided[answer.DegradedField] != nil
	if _, decided := edge.DecisionFrom(ctx); decided || degraded {
		removeRateLimitFields(response.Header)
	}
	delete(response.Header, answer.DegradedField)
	return nil
}

// fail answers r, which the application did not.
func (g *Gateway) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := passageOf(r.Context())
	p.prepare()
	switch {
	case p.body.isBroken():
		// The error would name the client's address.
		g.logger.LogAttrs(r.Context(), slog.LevelDebug, "the client's content broke off", correlation(r))
		g.failures.Refuse(w, r, answer.BadRequest("The content of the request cannot be read to its end."))
	case errors.Is(r.Context().Err(), context.Canceled):
		g.logger.LogAttrs(r.Context(), slog.LevelDebug, "the client left", correlation(r))
		panic(http.ErrAbortHandler) // there is nobody to answer
	case isTimeout(err):
		p.hurry(w)
		g.failures.NotAnswered(w, r, err)
	default:
		p.hurry(w)
		g.failures.Unusable(w, r, err)
	}
}

func correlation(r *http.Request) slog.Attr {
	return slog.String("correlationId", answer.CorrelationID(r))
}
