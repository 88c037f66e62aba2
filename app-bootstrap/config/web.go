package config

import (
	"errors"
	"time"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/adapter-inbound-web/subject"
	"example.com/weir/shared-contract/pseudonym"
)

func (r *resolver) web(web webSection, clients subject.Config, layers *Layers, limits RateLimit) Web {
	r.listeners(web)
	addUnlessBetween(r.collector, "app.web.evaluation-deadline", web.EvaluationDeadline, time.Millisecond, time.Minute)
	addUnlessBetween(r.collector, "app.web.shutdown.delay", web.Shutdown.Delay, 0, 5*time.Minute)
	addUnlessBetween(r.collector, "app.web.shutdown.drain", web.Shutdown.Drain, 0, 10*time.Minute)
	r.addUnlessOneOf("app.web.headers", web.Headers,
		string(answer.IETFHeaders), string(answer.LegacyHeaders), string(answer.BothHeaders))
	r.addUnlessOneOf("app.web.legacy-reset", web.LegacyReset,
		string(answer.DeltaReset), string(answer.EpochReset))
	r.addUnlessOneOf("app.web.default-route", web.DefaultRoute,
		string(edge.ChargeDefault), string(edge.RejectDefault))
	r.addUnlessOneOf("app.web.preflight", web.Preflight,
		string(edge.ExemptPreflight), string(edge.CountPreflight))

	local := locallimit.Config{
		Limit:       web.LocalLimiter.Limit,
		Window:      web.LocalLimiter.Window,
		MaxSubjects: web.LocalLimiter.MaxSubjects,
	}
	r.localLimiter(local)
	return Web{
		Address:            web.Address,
		ManagementAddress:  web.ManagementAddress,
		ManagementToken:    r.managementToken(web),
		AuthorizeAddress:   web.AuthorizeAddress,
		TLS:                r.tls(webTLSKey, web.TLS),
		H2C:                r.clearHTTP2(web),
		Gateway:            r.gateway(web),
		Subject:            clients,
		CORS:               r.cors(web.CORS),
		Routes:             r.routes(web.Routes, layers, limits),
		Layers:             layers,
		DefaultRoute:       edge.DefaultRoute(web.DefaultRoute),
		Preflight:          edge.Preflight(web.Preflight),
		EvaluationDeadline: web.EvaluationDeadline,
		Headers:            answer.Headers(web.Headers),
		LegacyReset:        answer.LegacyReset(web.LegacyReset),
		Shutdown:           Shutdown(web.Shutdown),
		LocalLimiter:       local,
	}
}

func (r *resolver) subject(section subjectSection) subject.Config {
	const key = "app.web.subject"
	config := subject.Config{
		Source:     section.Source,
		Missing:    subject.Missing(section.Missing),
		Forwarded:  subject.Forwarded(section.Forwarded),
		Addressing: pseudonym.Addressing{IPv6Bits: section.IPv6Prefix},
	}
	if config.Source == "" {
		r.add(join(key, "source"), "must be %s or header:<Name>", subject.ClientIP)
	}
	if config.Missing == "" {
		r.add(join(key, "missing"), "must be %s or %s", subject.Reject, subject.UseClientIP)
	}
	if config.Forwarded == "" {
		r.add(join(key, "forwarded"), "must be %s or %s", subject.XForwardedFor, subject.StandardForwarded)
	}
	addUnlessBetween(r.collector, join(key, "ipv6-prefix"), section.IPv6Prefix, pseudonym.MinIPv6Bits, pseudonym.MaxIPv6Bits)
	_, err := subject.New(config)
	r.addUnder(key, err)
	config.TrustedProxies, err = subject.ParseTrustedProxies(section.TrustedProxies)
	r.addUnder(key, err)
	return config
}

// cors checks by constructing: there is one opinion about origins.
func (r *resolver) cors(section corsSection) *answer.CORS {
	cors, err := answer.NewCORS(section.AllowedOrigins)
	r.addUnder("app.web.cors", err)
	return cors
}

func (r *resolver) managementToken(web webSection) Sensitive {
	const key = "app.web.management-token"
	secret := r.secret(key, web.ManagementToken, web.ManagementTokenFile)
	token := secret.text
	switch {
	case secret.faulty:
	case token == "" && !secret.given && !isLoopback(web.ManagementAddress):
		r.add(key+fileSuffix, "must be given, because app.web.management-address is no loopback address")
	case token == "":
	case !isVisible(token):
		r.add(secret.key, "must be visible ASCII characters, because it is sent in a header")
	}
	return Sensitive{token}
}

// isVisible reports whether text can stand in a header as it is.
func isVisible(text string) bool {
	for _, char := range []byte(text) {
		if char <= ' ' || char > '~' {
			return false
		}
	}
	return true
}

// localLimiter checks by constructing: the limiter alone knows its bounds.
func (r *resolver) localLimiter(config locallimit.Config) {
	_, err := locallimit.New(config)
	var faults locallimit.Faults
	if !errors.As(err, &faults) {
		return
	}
	for _, fault := range faults {
		r.addUnlessReported(join("app.web.local-limiter", fault.Field), "%s", fault.Problem)
	}
}
