package management

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// probeTimeout bounds all probes of one round, which run at once.
	probeTimeout = time.Second
	// freshFor is how long the result of a round is shared. However often
	// /readyz is asked, a store sees no more than one probe per freshFor.
	freshFor = 250 * time.Millisecond
)

// Check is one thing that must work for the process to be ready.
type Check struct {
	// Name is public and unique.
	Name string
	// Probe returns nil when it works. Its error is shown to whoever asks
	// /readyz. It should heed its context, which ends after a second, and runs
	// at most once at a time.
	Probe func(context.Context) error
}

// Missing is a check that did not pass, and why.
type Missing struct {
	Name   string `json:"name"`
	Detail string `json:"detail"`
}

// shuttingDown is what is missing once the process stops.
func shuttingDown() []Missing {
	return []Missing{{Name: "shutting-down", Detail: "the process is stopping"}}
}

type readiness struct {
	probes   []*probe
	logger   *slog.Logger
	draining atomic.Bool
	flight   singleflight.Group

	// The rest is touched only in flight, by one goroutine at a time.

	last  []Missing
	until time.Time // last is fresh before
	known bool      // there was a round
}

func newReadiness(checks []Check, logger *slog.Logger) *readiness {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	r := &readiness{logger: logger}
	for _, check := range checks {
		r.probes = append(r.probes, &probe{check: check})
	}
	return r
}

func (r *readiness) drain() { r.draining.Store(true) }

// missing lists what is missing, in the order of the checks. The error is that
// of ctx.
func (r *readiness) missing(ctx context.Context) ([]Missing, error) {
	if r.draining.Load() {
		return shuttingDown(), nil
	}
	// The round does not run under ctx: its result is not for one caller alone.
	round := r.flight.DoChan("", func() (any, error) { return r.fresh(), nil })
	select {
	case result := <-round:
		if r.draining.Load() {
			return shuttingDown(), nil
		}
		return result.Val.([]Missing), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (r *readiness) fresh() []Missing {
	if time.Now().Before(r.until) {
		return r.last
	}
	found := r.round()
	if !r.known || (len(found) == 0) != (len(r.last) == 0) {
		r.logChange(found)
	}
	r.last, r.until, r.known = found, time.Now().Add(freshFor), true
	return found
}

func (r *readiness) logChange(missing []Missing) {
	if len(missing) == 0 {
		r.logger.Info("ready")
		return
	}
	r.logger.Warn("not ready", slog.Any("missing", missing))
}

// round runs all probes at once.
func (r *readiness) round() []Missing {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	details := make([]string, len(r.probes))
	var all sync.WaitGroup
	for i, p := range r.probes {
		all.Go(func() { details[i] = p.run(ctx) })
	}
	all.Wait()
	missing := []Missing{}
	for i, detail := range details {
		if detail != "" {
			missing = append(missing, Missing{Name: r.probes[i].check.Name, Detail: detail})
		}
	}
	return missing
}

// probe runs a check, and never twice at a time: one that ignores its context
// would otherwise pile up.
type probe struct {
	check Check
	busy  atomic.Bool
}

// run returns what is wrong, or nothing. It returns when ctx ends, even if the
// check does not.
func (p *probe) run(ctx context.Context) string {
	if !p.busy.CompareAndSwap(false, true) {
		return "an earlier probe has not answered yet"
	}
	result := make(chan error, 1)
	go func() {
		defer p.busy.Store(false)
		result <- p.check.Probe(ctx)
	}()
	select {
	case err := <-result:
		if err == nil {
			return ""
		}
		return err.Error()
	case <-ctx.Done():
		return "no answer within " + probeTimeout.String()
	}
}
