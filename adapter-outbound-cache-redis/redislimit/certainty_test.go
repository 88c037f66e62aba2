package redislimit_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/internal/fakeredis"
	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/ratelimit"
)

// allowed is a well-formed admission by the policy endlessFive.
const allowed = "*7\r\n$7\r\nALLOWED\r\n:1796000000000\r\n:1796000000000\r\n:5\r\n:4\r\n:0\r\n:1796004000000\r\n"

// allowedAll is a well-formed admission for every level of a call with these
// arguments of EVALSHA.
func allowedAll(arguments []string) string {
	levels, err := strconv.Atoi(arguments[1])
	if err != nil {
		return "-ERR value is not an integer or out of range\r\n"
	}
	return allowedAt(levels)
}

// allowedAt is allowed for as many levels.
func allowedAt(levels int) string {
	_, fields, _ := strings.Cut(allowed, "\r\n")
	return array(7*levels, strings.Repeat(fields, levels))
}

// array is an array of the protocol, of as many elements.
func array(length int, elements string) string { return fmt.Sprintf("*%d\r\n%s", length, elements) }

// inScript is how a server marks an error that a running program raised.
const inScript = " script: 0123456789abcdef0123456789abcdef01234567, on @user_script:90."

// mishap is a server that answers as it should or not, and what becomes of an
// evaluation there.
type mishap struct {
	behaviour fakeredis.Behaviour
	want      string
	sent      int
}

// silences are the mishaps that only a timeout ends.
var silences = []string{"silent in the handshake", "no reply"}

// mishaps are what can happen to a call with as many levels, to the first of them
// if it is one level's matter.
func mishaps(levels int) map[string]mishap {
	allowed := allowedAt(levels)
	_, fields, _ := strings.Cut(allowed, "\r\n")
	_, firstLevel, _ := strings.Cut(allowedAt(1), "\r\n")
	const invalid = "$7\r\nINVALID\r\n:1796000000000\r\n:1796000000000\r\n:0\r\n:0\r\n:0\r\n:0\r\n"

	answers := func(text string) fakeredis.Behaviour {
		return fakeredis.Polite(func(string, []string) fakeredis.Reply { return fakeredis.Reply{Text: text} })
	}
	hangsUp := func(text string) fakeredis.Behaviour {
		return fakeredis.Polite(func(string, []string) fakeredis.Reply { return fakeredis.Reply{Text: text, Close: true} })
	}
	at := func(points string, reply fakeredis.Reply) fakeredis.Behaviour {
		polite := answers(allowed)
		return func(command string, arguments []string) fakeredis.Reply {
			if slices.Contains(strings.Fields(points), command) {
				return reply
			}
			return polite(command, arguments)
		}
	}
	refuses := func(line string) fakeredis.Behaviour { return answers("-" + line + "\r\n") }
	edited := func(old, text string) fakeredis.Behaviour { return answers(strings.Replace(allowed, old, text, 1)) }

	return map[string]mishap{
		"a decision": {answers(allowed), "allowed", 1},

		// Not dispatched.
		"hangs up in the handshake":    {at("HELLO", fakeredis.Reply{Close: true}), "unavailable connection", 0},
		"silent in the handshake":      {at("HELLO", fakeredis.Reply{}), "unavailable connection", 0},
		"wrong password":               {at("HELLO AUTH", fakeredis.Reply{Text: "-WRONGPASS invalid username-password pair\r\n"}), "unavailable access-denied", 0},
		"database refused":             {at("SELECT", fakeredis.Reply{Text: "-NOPERM no permissions to run 'select'\r\n"}), "unavailable access-denied", 0},
		"still loading when connected": {at("SELECT", fakeredis.Reply{Text: "-LOADING Redis is loading the dataset in memory\r\n"}), "unavailable store-unready", 0},

		// Dispatched, and the fate is unknown.
		"hangs up after the request": {hangsUp(""), "indeterminate no-reply", 1},
		"no reply":                   {answers(""), "indeterminate no-reply", 1},
		"half a reply":               {hangsUp(allowed[:20]), "indeterminate no-reply", 1},
		"garbage":                    {answers("?what\r\n"), "indeterminate no-reply", 1},
		"error after a write":        {refuses("ERR user_script:90: boom" + inScript), "indeterminate script-error", 1},
		"wrong type inside":          {refuses("WRONGTYPE Operation against a key" + inScript), "indeterminate script-error", 1},
		"access inside (7.2)":        {refuses("ERR ACL failure in script: no permissions to run 'pexpire'" + inScript), "indeterminate access-denied", 1},
		"access inside (7.0)":        {refuses("ERR The user executing the script can't run this command" + inScript), "indeterminate access-denied", 1},
		"foreign key inside":         {refuses("ERR Script attempted to access a non local key in a cluster node" + inScript), "indeterminate script-error", 1},
		"an error nobody knows":      {refuses("STRANGE new world"), "indeterminate script-error", 1},

		// Refused before any write.
		"loading":              {refuses("LOADING Redis is loading the dataset in memory"), "unavailable store-unready", 1},
		"master down":          {refuses("MASTERDOWN Link with MASTER is down"), "unavailable store-unready", 1},
		"busy":                 {refuses("BUSY Redis is busy running a script"), "unavailable store-unready", 1},
		"read only":            {refuses("READONLY You can't write against a read only replica." + inScript), "unavailable store-unready", 1},
		"cluster down":         {refuses("CLUSTERDOWN The cluster is down"), "unavailable store-unready", 1},
		"try again":            {refuses("TRYAGAIN Multiple keys request during rehashing"), "unavailable store-unready", 1},
		"killed before writes": {refuses("ERR Error running script: Script killed by user with SCRIPT KILL"), "unavailable store-unready", 1},
		"too many clients":     {refuses("ERR max number of clients reached"), "unavailable store-unready", 1},
		"out of memory":        {refuses("OOM command not allowed when used memory > 'maxmemory'." + inScript), "unavailable store-full", 1},
		"cannot persist":       {refuses("MISCONF Redis is configured to save RDB snapshots"), "unavailable store-full", 1},
		"no replicas":          {refuses("NOREPLICAS Not enough good replicas to write."), "unavailable store-full", 1},
		"not allowed":          {refuses("NOPERM this user has no permissions to run the 'evalsha' command"), "unavailable access-denied", 1},
		"not authenticated":    {refuses("NOAUTH Authentication required."), "unavailable access-denied", 1},
		"moved":                {refuses("MOVED 3999 127.0.0.1:6381"), "unavailable unsupported", 1},
		"cross slot":           {refuses("CROSSSLOT Keys in request don't hash to the same slot"), "unavailable unsupported", 1},
		"command unknown":      {refuses("ERR unknown command 'EVALSHA', with args beginning with:"), "unavailable unsupported", 1},
		"program forgotten":    {refuses("NOSCRIPT No matching script."), "unavailable store-unready", 2},

		// A reply that is none.
		"null":              {answers("$-1\r\n"), "incompatible protocol", 1},
		"a word":            {answers("+OK\r\n"), "incompatible protocol", 1},
		"an empty array":    {answers("*0\r\n"), "incompatible protocol", 1},
		"a field missing":   {answers(array(7*levels-1, strings.Replace(fields, ":0\r\n", "", 1))), "incompatible protocol", 1},
		"a field too many":  {answers(array(7*levels+1, fields+":0\r\n")), "incompatible protocol", 1},
		"unknown status":    {edited("ALLOWED", "PERHAPS"), "incompatible protocol", 1},
		"status a number":   {edited("$7\r\nALLOWED", ":1"), "incompatible protocol", 1},
		"a field a word":    {edited(":4\r\n", "$3\r\nfew\r\n"), "incompatible protocol", 1},
		"a field null":      {edited(":4\r\n", "$-1\r\n"), "incompatible protocol", 1},
		"a hex numeral":     {edited(":4\r\n", "$3\r\n0x4\r\n"), "incompatible protocol", 1},
		"a leading zero":    {edited(":4\r\n", "$2\r\n04\r\n"), "incompatible protocol", 1},
		"negative":          {edited(":4\r\n", ":-4\r\n"), "incompatible protocol", 1},
		"beyond exact":      {edited(":1796004000000", ":9007199254740992"), "incompatible protocol", 1},
		"more than limit":   {edited(":4\r\n", ":6\r\n"), "incompatible protocol", 1},
		"another limit":     {edited(":5\r\n", ":50\r\n"), "incompatible protocol", 1},
		"allowed but wait":  {edited(":0\r\n", ":7\r\n"), "incompatible protocol", 1},
		"denied, no wait":   {edited("$7\r\nALLOWED", "$6\r\nDENIED"), "incompatible protocol", 1},
		"reset in the past": {edited(":1796004000000", ":1795999999999"), "incompatible protocol", 1},
		"invalid arguments": {answers(array(7*levels, strings.Replace(fields, firstLevel, invalid, 1))), "incompatible protocol", 1},
		"numbers as text":   {edited(":4\r\n", "$1\r\n4\r\n"), "allowed", 1},
	}
}

// Ensure that for every way in which an evaluation can fail, the outcome says
// whether it may have been charged, and that it was sent at most once: of one level
// and of several, with each kind of dispatch, alone and together with others, in
// clear and over TLS.
func TestCertainty(t *testing.T) { testCertainty(t, 1, askOne) }

func TestCertaintyOfLevels(t *testing.T) { testCertainty(t, 2, askTwo) }

func testCertainty(t *testing.T, levels int, ask ask) {
	for name, row := range mishaps(levels) {
		for _, line := range lines(t) {
			for _, situation := range situations() {
				t.Run(strings.Join([]string{name, situation.name, line.name}, "/"), func(t *testing.T) {
					t.Parallel()
					situation.meet(t, line, name, row, ask)
				})
			}
		}
	}
}

// ask evaluates something for a subject.
type ask func(t *testing.T, limiter *redislimit.Limiter, subject string) any

func askOne(t *testing.T, limiter *redislimit.Limiter, subject string) any {
	return evaluate(t, limiter, request(t, "p", subject, 1))
}

func askTwo(t *testing.T, limiter *redislimit.Limiter, subject string) any {
	return evaluateLayers(t, limiter, layeredRequest(t, "root", level(t, "p", subject), level(t, "q", "root")))
}

// situation is how an evaluation meets a mishap.
type situation struct {
	name string
	play func(attempt) problem
}

// attempt is one evaluation, or several at one time, in a situation.
type attempt struct {
	*testing.T
	line
	mishap
	ask
	timeout time.Duration
}

// problem is what went wrong with an attempt; the zero value is nothing.
type problem struct {
	text string
	// unsent: the time was up before all was sent, as on a machine that stands still.
	unsent bool
}

// meet tries again, with more time, where the server is silent and the time was up
// before all was sent.
func (s situation) meet(t *testing.T, line line, name string, row mishap, ask ask) {
	t.Helper()
	timeouts := []time.Duration{commandTimeout}
	if slices.Contains(silences, name) {
		timeouts = []time.Duration{300 * time.Millisecond, time.Second, commandTimeout}
	}
	for i, timeout := range timeouts {
		found := s.play(attempt{t, line, row, ask, timeout})
		switch {
		case found.text == "":
			return
		case !found.unsent || i == len(timeouts)-1:
			t.Fatalf("with a timeout of %v: %s", timeout, found.text)
		}
		t.Logf("once more, since with a timeout of %v: %s", timeout, found.text)
	}
}

func situations() []situation {
	alone := func(dispatch redislimit.Dispatch) func(attempt) problem {
		return func(a attempt) problem {
			server := fakeredis.StartEach(a, a.server, always(a.behaviour))
			return a.limiter(server, dispatch).alone()
		}
	}
	return []situation{
		{"pooled", alone(redislimit.Pooled)},
		{"batched/alone", alone(redislimit.Batched)},
		{"batched/together", func(a attempt) problem {
			first := newHeld()
			server := fakeredis.StartEach(a, a.server, func(connection int) fakeredis.Behaviour {
				if connection == 1 {
					return fakeredis.Polite(first.evaluate)
				}
				return a.behaviour
			})
			return a.limiter(server, redislimit.Batched).together(first)
		}},
	}
}

// line is how to speak with a server: in clear or over TLS.
type line struct {
	name   string
	server *tls.Config
	scheme string
	client redislimit.TLS
}

func lines(t *testing.T) []line {
	authority := redistest.NewAuthority(t)
	return []line{
		{name: "clear", scheme: "redis://"},
		{
			name: "TLS", scheme: "rediss://",
			server: &tls.Config{Certificates: []tls.Certificate{authority.Issue(t, "127.0.0.1").Pair(t)}},
			client: redislimit.TLS{RootCAs: authority.Pool()},
		},
	}
}

// doubtful is a limiter in front of a server that fails.
type doubtful struct {
	attempt
	server  *fakeredis.Server
	limiter *redislimit.Limiter
}

func (a attempt) limiter(server *fakeredis.Server, dispatch redislimit.Dispatch) doubtful {
	c := config(a, server.Addr, policySpec("p", endlessFive), policySpec("q", endlessFive))
	c.Endpoint, c.TLS = a.scheme+server.Addr+"/1", a.client
	c.Dispatch = dispatch
	c.PoolSize = 1 // one lane, when batched
	c.CommandTimeout, c.PoolTimeout = a.timeout, a.timeout
	c.Username, c.Password = "weir", "hunter2"
	return doubtful{a, server, newLimiter(a, c)}
}

// alone evaluates once, and says what went wrong.
func (d doubtful) alone() problem {
	outcome := label(d.ask(d.T, d.limiter, "somebody"))
	sent := d.server.Evaluations()
	if found := d.wantOutcomes(sent, outcome); found.text != "" {
		return found
	}
	if sent != d.sent {
		return problem{text: fmt.Sprintf("%d evaluations were sent, must be %d", sent, d.sent)}
	}
	return problem{}
}

// wantOutcomes compares the outcomes of evaluations of which some were sent.
func (d doubtful) wantOutcomes(sent int, outcomes ...string) problem {
	unsent := 0
	for _, got := range outcomes {
		switch got {
		case "unavailable connection", "unavailable saturated":
			unsent++
		case d.want:
		default:
			return problem{text: fmt.Sprintf("outcome is %q, must be %q", got, d.want)}
		}
	}
	for _, got := range outcomes {
		if got != d.want {
			return problem{
				text:   fmt.Sprintf("outcomes are %q and %d evaluations were sent, must be %q", outcomes, sent, d.want),
				unsent: sent <= len(outcomes)-unsent,
			}
		}
	}
	return problem{}
}

// together lets an evaluation hold the only lane until three others wait for it,
// and says what went wrong with these. They go in one batch, over a connection of
// their own, since the first one breaks.
func (d doubtful) together(first *held) problem {
	const together = 3
	var asking sync.WaitGroup
	asking.Go(func() { d.ask(d.T, d.limiter, "the first") })
	letGo := sync.OnceFunc(func() { close(first.release) })
	defer asking.Wait()
	defer letGo()
	if !soon(func() bool { return len(first.arrived) > 0 }) {
		return problem{"the first one does not arrive", true}
	}
	answers := make(chan any, together)
	for range together {
		asking.Go(func() { answers <- d.ask(d.T, d.limiter, "somebody") })
	}
	if !soon(func() bool { return d.limiter.Waiting() == together }) {
		return problem{"the others do not wait", true}
	}
	letGo()
	var outcomes []string
	for range together {
		outcomes = append(outcomes, label(<-answers))
	}
	sent := d.server.Evaluations() - 1
	if found := d.wantOutcomes(sent, outcomes...); found.text != "" {
		return found
	}
	if most := together * d.sent; sent > most || (d.sent > 0) != (sent > 0) {
		return problem{text: fmt.Sprintf("%d evaluations were sent, must be %d at most, and none only if that is none", sent, most)}
	}
	return problem{}
}

// held keeps an evaluation until it is released, and then breaks its connection.
type held struct{ arrived, release chan struct{} }

func newHeld() *held { return &held{make(chan struct{}, 1), make(chan struct{})} }

func (h *held) evaluate(string, []string) fakeredis.Reply {
	h.arrived <- struct{}{}
	<-h.release
	return fakeredis.Reply{Text: "?\r\n", Close: true}
}

func always(behaviour fakeredis.Behaviour) func(int) fakeredis.Behaviour {
	return func(int) fakeredis.Behaviour { return behaviour }
}

// Ensure that a port where nobody listens is told at once, and not when the time
// is up.
func TestNobodyListens(t *testing.T) {
	const tries, atOnce = 5, 100 * time.Millisecond
	limiter := newLimiter(t, config(t, "127.0.0.1:1", policySpec("p", endlessFive)))
	quickest := callerTimeout
	for range tries {
		start := time.Now()
		wantLabel(t, evaluate(t, limiter, request(t, "p", "somebody", 1)), "unavailable connection")
		quickest = min(quickest, time.Since(start))
	}
	if quickest > atOnce {
		t.Errorf("each of %d took %v or more, must take %v at most", tries, quickest, atOnce)
	}
}

// Ensure that waiting for a connection is bounded and charges nothing, and that
// a caller who leaves after dispatch is answered in doubt.
func TestPoolWaitAndCancellation(t *testing.T) {
	server, hangUp := startHolding(t, hangsUp)
	c := config(t, server.Addr, policySpec("p", endlessFive))
	c.Dispatch = redislimit.Pooled
	c.PoolSize, c.PoolTimeout = 1, 50*time.Millisecond
	limiter := newLimiter(t, c)

	ctx, cancel := context.WithTimeout(t.Context(), callerTimeout)
	defer cancel()
	var holder sync.WaitGroup
	var held ratelimit.Outcome
	holder.Go(func() { held = limiter.Evaluate(ctx, request(t, "p", "a", 1)) })
	defer hangUp()
	awaitEvaluations(t, server, 1)
	cancel()
	start := time.Now()
	wantLabel(t, evaluate(t, limiter, request(t, "p", "b", 1)), "unavailable saturated")
	if took := time.Since(start); took > commandTimeout/2 {
		t.Errorf("a wait for a connection took %v, must take %v", took, c.PoolTimeout)
	}
	hangUp()
	holder.Wait()
	wantLabel(t, held, "indeterminate no-reply")
	if sent := server.Evaluations(); sent != 1 {
		t.Errorf("%d evaluations were sent, must be 1", sent)
	}
}
