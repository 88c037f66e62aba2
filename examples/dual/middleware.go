package main

import (
	"log/slog"
	"net"
	"net/http"
	"strconv"
)

// RateLimiter spends one request of key, and returns what is left of limit.
type RateLimiter interface {
	Allow(key string, limit int) (bool, int, error)
}

// DualLayerLimiter spends one request of a tenant and of its user, or of neither,
// and returns what is left of both limits.
type DualLayerLimiter interface {
	AllowDual(tenantKey string, tenantLimit int, userKey string, userLimit int) (allowed bool, tenantRemaining, userRemaining int, err error)
}

// RateLimitMiddleware limits users within their tenants, and those who are
// anonymous by their addresses. It imports nothing of Weir.
type RateLimitMiddleware struct {
	dual     DualLayerLimiter
	single   RateLimiter
	accounts map[string]account // by their API keys
	logger   *slog.Logger
}

// Wrap lets through to next what is allowed. What could not be decided is neither
// allowed nor refused, and answered 503.
func (m *RateLimitMiddleware) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		allowed, remaining, err := m.allow(r)
		if err != nil {
			m.logger.ErrorContext(r.Context(), "a request could not be decided", slog.Any("error", err))
			http.Error(w, "rate limits cannot be checked", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(remaining))
		if !allowed {
			http.Error(w, "rate limit exceeded", http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (m *RateLimitMiddleware) allow(r *http.Request) (allowed bool, remaining int, err error) {
	account, known := m.accounts[r.Header.Get("X-Api-Key")]
	if !known {
		return m.single.Allow(clientOf(r), anonymousLimit)
	}
	allowed, ofTenant, ofUser, err := m.dual.AllowDual(account.tenant, account.tenantLimit, account.user, account.userLimit)
	return allowed, min(ofTenant, ofUser), err
}

// clientOf is the client by its address. The prefix makes one client of a network
// of IPv6 addresses.
func clientOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return "ip:" + host
}
