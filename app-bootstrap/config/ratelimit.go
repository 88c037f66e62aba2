package config

import (
	"slices"
	"strings"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

const (
	rateLimitKey = "app.rate-limit"
	redisKey     = "app.rate-limit.redis"
	policiesKey  = "app.rate-limit.policies"
	endpointKey  = "app.rate-limit.redis.endpoint"
)

func (r *resolver) rateLimit(section rateLimitSection, addressing pseudonym.Addressing) RateLimit {
	if section.Redis.Endpoint == "" {
		return r.rateLimitDisabled(section)
	}
	redis := section.Redis
	if err := redislimit.CheckEndpoint(redis.Endpoint); err != nil {
		r.add(endpointKey, "%v", err)
	}
	r.addUnlessOneOf(join(rateLimitKey, "provider"), section.Provider, "redis")
	r.addUnlessOneOf(join(redisKey, "role"), redis.Role, "coordination")
	r.addUnlessOneOf(join(redisKey, "failure-policy"), redis.FailurePolicy, "fail-closed")
	r.addUnder(redisKey, redislimit.Config{
		CommandTimeout: redis.CommandTimeout,
		DialTimeout:    redis.DialTimeout,
		PoolTimeout:    redis.PoolTimeout,
		Dispatch:       redislimit.Dispatch(redis.Dispatch),
		Breaker:        redislimit.Breaker(redis.Breaker),
	}.CheckDispatch())
	addUnlessBetween(r.collector, join(redisKey, "pool-size"), redis.PoolSize, 1, redislimit.MaxPoolSize)
	addUnlessBetween(r.collector, "app.rate-limit.admission.max-in-flight", section.Admission.MaxInFlight, 1, redislimit.MaxInFlight)

	policies := r.policies(section.Policies)
	r.defaultPolicy(section)
	secret := r.hmacSecret(redis)
	return RateLimit{
		DefaultPolicy: section.DefaultPolicy,
		Policies:      r.overridden(policies, section.Overrides, addressing, secret),
		MaxInFlight:   section.Admission.MaxInFlight,
		Redis: Redis{
			Endpoint:       redis.Endpoint,
			TLS:            r.redisTLS(redis),
			Username:       redis.Username,
			Password:       r.redisPassword(redis),
			Secret:         secret,
			CommandTimeout: redis.CommandTimeout,
			DialTimeout:    redis.DialTimeout,
			PoolTimeout:    redis.PoolTimeout,
			PoolSize:       redis.PoolSize,
			Dispatch:       redislimit.Dispatch(redis.Dispatch),
			Breaker:        redislimit.Breaker(redis.Breaker),
		},
	}
}

func (r *resolver) redisPassword(redis redisSection) Sensitive {
	key := join(redisKey, "password")
	given := r.secret(key, redis.Password, redis.PasswordFile)
	if redis.Username != "" && !given.given {
		// A server asks for both or for none, and the client would send none.
		r.addUnlessReported(key+fileSuffix, "must be given, because %s is", join(redisKey, "username"))
	}
	return Sensitive{given.text}
}

func (r *resolver) defaultPolicy(section rateLimitSection) {
	const key = "app.rate-limit.default-policy"
	if section.DefaultPolicy == "" {
		r.addUnlessReported(key, "must be given, because %s is", endpointKey)
		return
	}
	_, declared := section.Policies[section.DefaultPolicy]
	if !declared && !r.reported(join(policiesKey, section.DefaultPolicy)) {
		r.addUnlessReported(key, "names %q, which %s does not define", section.DefaultPolicy, policiesKey)
	}
}

func (r *resolver) hmacSecret(redis redisSection) pseudonym.Secret {
	key := join(redisKey, "hmac-secret")
	given := r.secret(key, redis.HMACSecret, redis.HMACSecretFile)
	switch {
	case given.faulty:
		return pseudonym.Secret{}
	case !given.given:
		r.addUnlessReported(key+fileSuffix, "must be given, because %s is", endpointKey)
		return pseudonym.Secret{}
	}
	secret, err := pseudonym.NewSecret([]byte(given.text))
	if err != nil {
		r.add(given.key, "%v", err)
	}
	return secret
}

// rateLimitDisabled checks no value: what has no effect must not stop a start.
func (r *resolver) rateLimitDisabled(section rateLimitSection) RateLimit {
	if section.Required {
		r.addUnlessReported(endpointKey, "must be given, because app.rate-limit.required is true")
	}
	for _, key := range r.given.under(rateLimitKey) {
		if key != endpointKey && key != join(rateLimitKey, "required") {
			r.warn(key, "has no effect, because %s is not given", endpointKey)
		}
	}
	return RateLimit{Policies: new(ratelimit.Snapshot), MaxInFlight: section.Admission.MaxInFlight}
}

// under lists the keys that were written under section, with each policy
// and each set of levels as one.
func (g given) under(section string) []string {
	var keys []string
	for _, key := range g.merged.Keys() {
		if !strings.HasPrefix(key, section+delimiter) {
			continue
		}
		for _, named := range []string{policiesKey, layeredKey} {
			if rest, within := strings.CutPrefix(key, named+delimiter); within {
				name, _, _ := strings.Cut(rest, delimiter)
				key = join(named, name)
			}
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
