package redislimit_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/ratelimit"
)

// documentedRules are those of the line in docs/redis.md that operators copy,
// without its password.
func documentedRules(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^ACL SETUSER weir (reset on >PASSWORD .*)$`).FindAllSubmatch(text, -1)
	if len(lines) != 1 {
		t.Fatalf("docs/redis.md has %d lines for the user, must have one", len(lines))
	}
	return strings.Fields(string(lines[0][1]))
}

// optional rules are those that readiness does without.
var optional = []string{"+info|memory"}

// Ensure that a user with the documented rules can do all that Weir does, by TLS
// and on every kind of server, and that none of the rules is there for nothing.
func TestDocumentedAccess(t *testing.T) {
	rules := documentedRules(t)
	authority := redistest.NewAuthority(t)
	client := presents(t, authority.Issue(t))
	for _, lane := range redistest.Lanes(t) {
		t.Run(lane.String(), func(t *testing.T) {
			server := redistest.StartTLS(t, lane, authority, []string{serverName}, "--tls-auth-clients", "yes")
			admin := server.Client(t)
			asUser := func(t *testing.T, database string, log *memo, rules ...string) *redislimit.Limiter {
				t.Helper()
				if err := admin.ACLSetUser(t.Context(), "weir", rules...).Err(); err != nil {
					t.Fatal(err)
				}
				c := secured(t, server.Addr, redislimit.TLS{RootCAs: authority.Pool(), ServerName: serverName, Certificate: client})
				c.Endpoint += database
				c.Username, c.Password = "weir", "PASSWORD"
				c.Catalog = ratelimit.NewCatalog(snapshot(t, onePerAlgorithm()...))
				c.Logger = log.logger()
				return newLimiter(t, c)
			}

			t.Run("all", func(t *testing.T) {
				var log memo
				limiter := asUser(t, "", &log, rules...)
				wantUnready(t, limiter, "")
				decidesEverything(t, limiter, admin)
				if text := log.String(); text != "" {
					t.Errorf("the log is not empty:\n%s", text)
				}
			})
			t.Run("another database", func(t *testing.T) {
				var log memo
				wantUnready(t, asUser(t, "/1", &log, rules...), "access-denied")
				wantUnready(t, asUser(t, "/1", &log, append(slices.Clone(rules), "+select")...), "")
			})
			for _, rule := range rules {
				if strings.HasPrefix(rule, "+") || strings.HasPrefix(rule, "~") {
					t.Run("without "+rule, func(t *testing.T) {
						admin.FlushAll(t.Context())
						admin.ScriptFlush(t.Context())
						var log memo
						limiter := asUser(t, "", &log, slices.DeleteFunc(slices.Clone(rules), func(r string) bool { return r == rule })...)
						if slices.Contains(optional, rule) {
							wantUnready(t, limiter, "")
							wantUnready(t, limiter, "")
							if n := strings.Count(log.String(), "readiness cannot check it"); n != 1 {
								t.Errorf("the log mentions it %d times, must once:\n%s", n, log.String())
							}
							return
						}
						wantUnready(t, limiter, "access-denied")
					})
				}
			}
		})
	}
}

// onePerAlgorithm are policies that admit two, named after their algorithm.
func onePerAlgorithm() []ratelimit.PolicySpec {
	var specs []ratelimit.PolicySpec
	for _, parameters := range []ratelimit.Parameters{
		ratelimit.FixedWindow{Limit: 2, Window: endlessWindow},
		ratelimit.SlidingCounter{Limit: 2, Window: 24 * time.Hour},
		ratelimit.SlidingLog{Limit: 2, Window: 24 * time.Hour},
		ratelimit.TokenBucket{Capacity: 2, RefillTokens: 1, RefillInterval: 24 * time.Hour},
	} {
		specs = append(specs, policySpec(string(parameters.Algorithm()), parameters))
	}
	return specs
}

// decidesEverything has each program admit, admit again after the server forgot
// it, and deny.
func decidesEverything(t *testing.T, limiter *redislimit.Limiter, admin *redis.Client) {
	t.Helper()
	var levels []ratelimit.Level
	for _, spec := range onePerAlgorithm() {
		levels = append(levels, level(t, spec.ID, "somebody else"))
		one := request(t, spec.ID, "somebody", 1)
		admin.ScriptFlush(t.Context())
		wantLabel(t, evaluate(t, limiter, one), "allowed")
		admin.ScriptFlush(t.Context())
		wantLabel(t, evaluate(t, limiter, one), "allowed")
		wantLabel(t, evaluate(t, limiter, one), "denied")
	}
	all := layeredRequest(t, "root", levels...)
	for _, want := range []string{"allowed", "allowed", "denied"} {
		admin.ScriptFlush(t.Context())
		wantLabel(t, evaluateLayers(t, limiter, all), want)
	}
}
