package config

import (
	"errors"
	"fmt"
	"time"

	"example.com/weir/shared-contract/ratelimit"
)

// resolver turns a document into a Config. It goes on after a fault, so that
// all of them are found.
type resolver struct {
	*collector
	sources  Sources
	given    given
	warnings []Warning
}

func (r *resolver) resolve(app appSection) Config {
	clients := r.subject(app.Web.Subject)
	limits := r.rateLimit(app.RateLimit, clients.Addressing)
	r.deadline(app.Web.EvaluationDeadline, limits.Redis)
	layers := r.webLayers(app.Web, r.levelSets(app.RateLimit.Layered, limits), clients, limits)
	config := Config{
		Web:       r.web(app.Web, clients, layers, limits),
		RateLimit: limits,
	}
	if limits.Enabled() {
		r.warnOfOverrides(app.RateLimit.Overrides, app.Web.Layers.Identities, config)
	}
	return config
}

// deadline refuses one that an evaluation could never keep: the store would be
// asked for nothing but failures.
func (r *resolver) deadline(deadline time.Duration, redis Redis) {
	if least := redis.PoolTimeout + redis.CommandTimeout; deadline < least {
		r.add("app.web.evaluation-deadline", "is %v, must be at least %v, the sum of %s and %s", deadline, least,
			join(redisKey, "pool-timeout"), join(redisKey, "command-timeout"))
	}
}

func (r *resolver) warn(key, format string, args ...any) {
	r.warnings = append(r.warnings, Warning{Key: key, Note: fmt.Sprintf(format, args...)})
}

// addUnder takes over faults that were found elsewhere, whose fields are
// relative to section.
func (r *resolver) addUnder(section string, err error) {
	var faults ratelimit.Faults
	switch {
	case err == nil:
	case errors.As(err, &faults):
		for _, fault := range faults {
			r.addUnlessReported(join(section, fault.Field), "%s", fault.Problem)
		}
	default:
		r.add(section, "%v", err)
	}
}
