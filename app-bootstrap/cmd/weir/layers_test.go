package main

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/weir/adapter-outbound-cache-redis/redistest"
)

// overRedis is the arguments that keep the limits of a file at addr. Other
// machines are slower than the defaults allow.
func overRedis(t *testing.T, addr string) []string {
	t.Helper()
	return []string{
		"--set", "app.web.evaluation-deadline=20s",
		"--set", "app.rate-limit.redis.endpoint=redis://" + addr,
		"--set", "app.rate-limit.redis.hmac-secret-file=" + writeFile(t, "hmac", "0123456789abcdef0123456789abcdef\n"),
		"--set", "app.rate-limit.redis.command-timeout=5s",
		"--set", "app.rate-limit.redis.dial-timeout=5s",
		"--set", "app.rate-limit.redis.pool-timeout=5s",
	}
}

// tenantUser limits a user to 3 requests and a tenant to 10, which no test sees
// come back.
const tenantUser = `
app:
  web:
    layers: {set: tenant-user, identities: {user: "header:X-User", tenant: "header:X-Tenant"}}
  rate-limit:
    default-policy: anonymous
    layered:
      tenant-user: {failure-mode: MODE, levels: [{name: user, policy: user}, {name: tenant, policy: tenant}]}
    overrides:
      - {policy: tenant, subject: "header:X-Tenant:large", limit: 12}
      - {policy: user, subject: "header:X-User:busy", limit: 5}
      - {policy: user, subject: "header:X-User:slow", limit: 1}
    policies:
      anonymous: {revision: 1, algorithm: fixed-window, limit: 100, window: 87840h, max-cost: 1, cleanup-grace: 1m, max-clock-regression: 250ms}
      user: {revision: 1, algorithm: sliding-log, limit: 3, window: 87840h, max-cost: 1, cleanup-grace: 1m, max-clock-regression: 250ms}
      tenant: {revision: 1, algorithm: token-bucket, capacity: 10, refill-tokens: 1, refill-interval: 7320h, max-cost: 1, cleanup-grace: 1m, max-clock-regression: 250ms}
`

// withTenantUser is the arguments for those levels, which are kept at addr and
// treated by mode while they cannot be decided.
func withTenantUser(t *testing.T, addr, mode string, more ...string) []string {
	t.Helper()
	file := writeFile(t, "weir.yaml", strings.ReplaceAll(tenantUser, "MODE", mode))
	return slices.Concat([]string{"--config", file}, overRedis(t, addr), more)
}

// as is a request of a user of a tenant at the public listener; no user is nobody.
func (p *process) as(tenant, user string) *http.Request {
	request := get(p.public+"/", "X-Tenant", tenant)
	if user != "" {
		request.Header.Set("X-User", user)
	}
	return request
}

var ofPolicy = regexp.MustCompile(`"([a-z-]+)";[rq]=(\d+)`)

// numbers is what RateLimit or RateLimit-Policy says of each policy, such as
// "user=0 tenant=7".
func numbers(got response, field string) string {
	var all []string
	for _, found := range ofPolicy.FindAllStringSubmatch(got.header.Get(field), -1) {
		all = append(all, found[1]+"="+found[2])
	}
	return strings.Join(all, " ")
}

// Ensure that two processes charge a request at all of its levels or at none, that
// what refuses is named, and that subjects and tenants have what is theirs.
func TestWeir_LayersAreChargedTogether(t *testing.T) {
	type step struct {
		tenant, user string
		times        int // all but the last one pass, too
		refusedBy    string
		left         string
	}
	steps := []step{
		{"acme", "ann", 3, ``, "user=0 tenant=7"},
		{"acme", "ann", 1, `"user"`, "user=0 tenant=7"},
		{"acme", "bob", 3, ``, "user=0 tenant=4"},
		{"acme", "cid", 3, ``, "user=0 tenant=1"},
		{"acme", "dan", 1, ``, "user=2 tenant=0"},
		{"acme", "dan", 1, `"tenant"`, "user=2 tenant=0"},
		{"acme", "eve", 1, `"tenant"`, "user=3 tenant=0"},
		{"acme", "eve", 1, `"tenant"`, "user=3 tenant=0"},
		{"acme", "ann", 1, `"user","tenant"`, "user=0 tenant=0"},
		{"acme", "", 3, ``, "anonymous=97"},
		{"other", "ann", 1, ``, "user=2 tenant=9"}, // another one than acme's
		{"large", "busy", 5, ``, "user=0 tenant=7"},
		{"large", "busy", 1, `"user"`, "user=0 tenant=7"},
		{"large", "slow", 1, ``, "user=0 tenant=6"},
		{"large", "slow", 1, `"user"`, "user=0 tenant=6"},
	}
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		args := withTenantUser(t, server.Addr, "fail-closed")
		processes := []*process{start(t, args...), start(t, args...)}
		sent := 0
		for _, step := range steps {
			before := stateOf(t, server)
			var got response
			for i := range step.times {
				got = send(t, processes[sent%len(processes)].as(step.tenant, step.user))
				sent++
				if i < step.times-1 && got.status != http.StatusOK {
					t.Errorf("%+v: request %d is answered %d %s", step, i, got.status, got.body)
				}
			}
			status := http.StatusOK
			if step.refusedBy != "" {
				status = http.StatusTooManyRequests
				if !strings.Contains(got.body, `"refusedBy":[`+step.refusedBy+`]`) {
					t.Errorf("%+v: answered %s", step, got.body)
				}
				if !maps.Equal(stateOf(t, server), before) {
					t.Errorf("%+v: the refusal changed the state", step)
				}
			}
			if left := numbers(got, "RateLimit"); got.status != status || left != step.left {
				t.Errorf("%+v: answered %d, left are %s", step, got.status, left)
			}
		}
		if got := numbers(send(t, processes[0].as("large", "busy")), "RateLimit-Policy"); got != "user=5 tenant=12" {
			t.Errorf("the quotas shown are %s", got)
		}
		// The root's level is the tenant by itself, with the quota of its own.
		alone := send(t, processes[1].evaluate(`{"policyId":"tenant","subject":"header:X-Tenant:large"}`))
		if !strings.Contains(alone.body, `"limit":12,"remaining":5,`) {
			t.Errorf("the tenant by itself is answered %s", alone.body)
		}
		for _, weir := range processes {
			weir.stop(t)
		}
	})
}

// ofSelfTests is what the keys begin with that a self-test leaves for a moment.
const ofSelfTests = "weir:1:probe:"

// stateOf is all that server holds and no self-test left there, and when it expires.
func stateOf(t *testing.T, server *redistest.Server) map[string]string {
	t.Helper()
	client := server.Client(t)
	state := make(map[string]string)
	for _, key := range keysOf(t, server) {
		if strings.HasPrefix(key, ofSelfTests) {
			continue
		}
		dump, err := client.Dump(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		expiry, err := client.PExpireTime(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		state[key] = fmt.Sprint(expiry.Milliseconds(), dump)
	}
	return state
}

// hierarchy has three levels of three algorithms, the last of which all
// organisations share.
const hierarchy = `
app:
  web:
    layers:
      set: agents
      identities: {agent: "header:X-User", org: "header:X-Tenant", global: "fixed:everybody"}
  rate-limit:
    default-policy: global
    layered:
      agents:
        failure-mode: fail-closed
        levels: [{name: agent, policy: agent}, {name: org, policy: org}, {name: global, policy: global, shared: true}]
    policies:
      agent: {revision: 1, algorithm: sliding-log, limit: 30, window: 87840h, max-cost: 1, cleanup-grace: 1m, max-clock-regression: 250ms}
      org: {revision: 1, algorithm: token-bucket, capacity: 40, refill-tokens: 1, refill-interval: 2190h, max-cost: 1, cleanup-grace: 1m, max-clock-regression: 250ms}
      global: {revision: 1, algorithm: sliding-counter, limit: 100, window: 2501h, max-cost: 1, cleanup-grace: 1m, max-clock-regression: 250ms}
`

// Ensure that of many requests at once, at two processes, exactly as many are
// admitted as the tightest level has left, and that every level has spent exactly
// those.
func TestWeir_LayersAdmitWhatTheTightestHas(t *testing.T) {
	const parallel = 200
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		args := append([]string{"--config", writeFile(t, "weir.yaml", hierarchy)}, overRedis(t, server.Addr)...)
		processes := []*process{start(t, args...), start(t, args...)}
		for _, test := range []struct {
			tightest, org string
			agents        int
			admitted      int
			left          string // at the levels that the agents have in common
		}{
			{"agent", "acme", 1, 30, "org=10 global=70"},
			{"org", "acme", 20, 10, "org=0 global=60"},
			{"org", "other", 20, 40, "org=0 global=20"},
			{"global", "third", 20, 20, "org=20 global=0"},
		} {
			agent := func(i int) string { return fmt.Sprintf("%s-%d", test.tightest, i%test.agents) }
			requests := make([]*http.Request, parallel)
			for i := range requests {
				requests[i] = processes[i%len(processes)].as(test.org, agent(i/len(processes)))
			}
			if got := allowed(t, requests, byStatus); got != test.admitted {
				t.Errorf("%s of %s: %d pass, want %d", test.tightest, test.org, got, test.admitted)
			}
			spent := 0
			for i := range test.agents { // all of them are refused now, which costs nothing
				got := send(t, processes[i%len(processes)].as(test.org, agent(i)))
				if got.status != http.StatusTooManyRequests || !strings.Contains(got.body, `"`+test.tightest+`"`) {
					t.Errorf("%s of %s: then answered %d %s", test.tightest, test.org, got.status, got.body)
				}
				own, common, _ := strings.Cut(numbers(got, "RateLimit"), " ")
				left, err := strconv.Atoi(strings.TrimPrefix(own, "agent="))
				if err != nil || common != test.left {
					t.Errorf("%s of %s: left are %s and %s, want %s", test.tightest, test.org, own, common, test.left)
				}
				spent += 30 - left
			}
			if spent != test.admitted {
				t.Errorf("%s of %s: the agents have spent %d", test.tightest, test.org, spent)
			}
		}
		for _, weir := range processes {
			weir.stop(t)
		}
	})
}

// Ensure that the example of levels runs as it stands, but for the store's address
// and the secret, and believes the proxies it names and nobody else.
func TestWeir_ExampleOfLayers(t *testing.T) {
	server := redistest.Primary(t)
	args := append([]string{"--config", "../../../examples/layered.yaml"}, overRedis(t, server.Addr)...)
	for name, test := range map[string]struct {
		proxies string
		quotas  string
	}{
		"a stranger is anonymous":        {"10.0.0.0/8", "anonymous=10"},
		"a proxy says who the users are": {"127.0.0.1", "user=20 tenant=1000"},
	} {
		t.Run(name, func(t *testing.T) {
			weir := start(t, slices.Concat(args, anyPorts, []string{"--set", "app.web.subject.trusted-proxies=" + test.proxies})...)
			got := send(t, get(weir.public+"/", "X-User-Id", "ann", "X-Tenant-Id", "acme"))
			if quotas := numbers(got, "RateLimit-Policy"); got.status != http.StatusOK || quotas != test.quotas {
				t.Errorf("answered %d, the quotas shown are %s", got.status, quotas)
			}
			weir.stop(t)
		})
	}
}
