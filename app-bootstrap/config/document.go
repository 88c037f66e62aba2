package config

import "time"

// document is the configuration as it is written: every known key with its
// type. What may not be left to a default is a pointer, so that "absent" and
// "zero" differ.
type document struct {
	App appSection `koanf:"app"`
}

type appSection struct {
	Web       webSection       `koanf:"web"`
	RateLimit rateLimitSection `koanf:"rate-limit"`
}

type webSection struct {
	Address             string              `koanf:"address"`
	ManagementAddress   string              `koanf:"management-address"`
	ManagementToken     string              `koanf:"management-token"`
	ManagementTokenFile string              `koanf:"management-token-file"`
	AuthorizeAddress    string              `koanf:"authorize-address"`
	TLS                 tlsSection          `koanf:"tls"`
	H2C                 bool                `koanf:"h2c"`
	Upstream            string              `koanf:"upstream"`
	Gateway             gatewaySection      `koanf:"gateway"`
	Subject             subjectSection      `koanf:"subject"`
	CORS                corsSection         `koanf:"cors"`
	Routes              []routeEntry        `koanf:"routes"`
	EvaluationDeadline  time.Duration       `koanf:"evaluation-deadline"`
	Headers             string              `koanf:"headers"`
	LegacyReset         string              `koanf:"legacy-reset"`
	DefaultRoute        string              `koanf:"default-route"`
	Preflight           string              `koanf:"preflight"`
	Shutdown            shutdownSection     `koanf:"shutdown"`
	LocalLimiter        localLimiterSection `koanf:"local-limiter"`
	Layers              webLayersSection    `koanf:"layers"`
	Fallback            fallbackSection     `koanf:"fallback"`
}

type subjectSection struct {
	Source         string   `koanf:"source"`
	Missing        string   `koanf:"missing"`
	TrustedProxies []string `koanf:"trusted-proxies"`
	Forwarded      string   `koanf:"forwarded"`
	IPv6Prefix     int      `koanf:"ipv6-prefix"`
}

type corsSection struct {
	AllowedOrigins []string `koanf:"allowed-origins"`
}

type routeEntry struct {
	Pattern string `koanf:"pattern"`
	Policy  string `koanf:"policy"`
	Cost    *int64 `koanf:"cost"`
	Exempt  bool   `koanf:"exempt"`
}

type shutdownSection struct {
	Delay time.Duration `koanf:"delay"`
	Drain time.Duration `koanf:"drain"`
}

type localLimiterSection struct {
	Limit       int           `koanf:"limit"`
	Window      time.Duration `koanf:"window"`
	MaxSubjects int           `koanf:"max-subjects"`
}

// webLayersSection names, by level, where a request says who is asking.
type webLayersSection struct {
	Set        string            `koanf:"set"`
	Identities map[string]string `koanf:"identities"`
}

type fallbackSection struct {
	Replicas int `koanf:"replicas"`
}

type rateLimitSection struct {
	Required      bool                     `koanf:"required"`
	Provider      string                   `koanf:"provider"`
	DefaultPolicy string                   `koanf:"default-policy"`
	Redis         redisSection             `koanf:"redis"`
	Admission     admissionSection         `koanf:"admission"`
	Policies      map[string]policyEntry   `koanf:"policies"`
	Layered       map[string]levelSetEntry `koanf:"layered"`
	Overrides     []overrideEntry          `koanf:"overrides"`
}

type redisSection struct {
	Endpoint       string          `koanf:"endpoint"`
	Role           string          `koanf:"role"`
	FailurePolicy  string          `koanf:"failure-policy"`
	HMACSecret     string          `koanf:"hmac-secret"`
	HMACSecretFile string          `koanf:"hmac-secret-file"`
	Username       string          `koanf:"username"`
	Password       string          `koanf:"password"`
	PasswordFile   string          `koanf:"password-file"`
	CommandTimeout time.Duration   `koanf:"command-timeout"`
	DialTimeout    time.Duration   `koanf:"dial-timeout"`
	PoolSize       int             `koanf:"pool-size"`
	PoolTimeout    time.Duration   `koanf:"pool-timeout"`
	Dispatch       string          `koanf:"dispatch"`
	Breaker        breakerSection  `koanf:"breaker"`
	TLS            redisTLSSection `koanf:"tls"`
}

type redisTLSSection struct {
	CAFile     string `koanf:"ca-file"`
	ServerName string `koanf:"server-name"`
	CertFile   string `koanf:"cert-file"`
	KeyFile    string `koanf:"key-file"`
}

type breakerSection struct {
	Failures int           `koanf:"failures"`
	OpenFor  time.Duration `koanf:"open-for"`
}

type admissionSection struct {
	MaxInFlight int `koanf:"max-in-flight"`
}

// policyEntry has no defaults: a policy is an agreement with its callers, and
// every number of it is written down.
type policyEntry struct {
	Revision           *int64         `koanf:"revision"`
	Algorithm          *string        `koanf:"algorithm"`
	Limit              *int64         `koanf:"limit"`
	Window             *time.Duration `koanf:"window"`
	Capacity           *int64         `koanf:"capacity"`
	RefillTokens       *int64         `koanf:"refill-tokens"`
	RefillInterval     *time.Duration `koanf:"refill-interval"`
	MaxCost            *int64         `koanf:"max-cost"`
	CleanupGrace       *time.Duration `koanf:"cleanup-grace"`
	MaxClockRegression *time.Duration `koanf:"max-clock-regression"`
}

type levelSetEntry struct {
	FailureMode *string      `koanf:"failure-mode"`
	Root        string       `koanf:"root"`
	Levels      []levelEntry `koanf:"levels"`
}

type levelEntry struct {
	Name   string `koanf:"name"`
	Policy string `koanf:"policy"`
	Shared bool   `koanf:"shared"`
}

type overrideEntry struct {
	Policy  string `koanf:"policy"`
	Subject string `koanf:"subject"`
	Limit   *int64 `koanf:"limit"`
}

// defaults is the document that what was given is decoded into.
func defaults() document {
	return document{App: appSection{
		Web: webSection{
			Address:            "127.0.0.1:8080",
			ManagementAddress:  "127.0.0.1:8081",
			Gateway:            gatewayDefaults(),
			Subject:            subjectSection{Source: "client-ip", Missing: "reject", Forwarded: "x-forwarded-for", IPv6Prefix: 64},
			EvaluationDeadline: 250 * time.Millisecond,
			Headers:            "both",
			LegacyReset:        "delta",
			DefaultRoute:       "default",
			Preflight:          "exempt",
			Shutdown:           shutdownSection{Drain: 10 * time.Second},
			LocalLimiter:       localLimiterSection{Limit: 60, Window: time.Minute, MaxSubjects: 65536},
		},
		RateLimit: rateLimitSection{
			Provider: "redis",
			Redis: redisSection{
				Role:           "coordination",
				FailurePolicy:  "fail-closed",
				CommandTimeout: 50 * time.Millisecond,
				DialTimeout:    250 * time.Millisecond,
				PoolSize:       32,
				PoolTimeout:    50 * time.Millisecond,
				Dispatch:       "batched",
				Breaker:        breakerSection{Failures: 32, OpenFor: 200 * time.Millisecond},
			},
			Admission: admissionSection{MaxInFlight: 1024},
		},
	}}
}
