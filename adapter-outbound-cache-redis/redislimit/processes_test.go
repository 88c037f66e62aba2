package redislimit_test

import (
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/redislimit"
	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/shared-contract/ratelimit"
)

// endless are policies of each algorithm under which no quota comes back while a
// test runs. A sliding counter's window cannot be as long as others.
func endless(quota int64) []ratelimit.PolicySpec {
	return []ratelimit.PolicySpec{
		policySpec("window", ratelimit.FixedWindow{Limit: quota, Window: endlessWindow}),
		policySpec("sliding", ratelimit.SlidingCounter{Limit: quota, Window: 104 * 24 * time.Hour}),
		policySpec("log", ratelimit.SlidingLog{Limit: quota, Window: endlessWindow}),
		policySpec("bucket", ratelimit.TokenBucket{Capacity: quota, RefillTokens: quota, RefillInterval: endlessWindow}),
	}
}

const (
	processes         = 4
	callersPerProcess = 64
	callsPerCaller    = 2
	// sharedQuota is half of what is asked for.
	sharedQuota = processes * callersPerProcess * callsPerCaller / 2
)

// The environment of a process that asks.
const (
	askedServer   = "REDISLIMIT_TEST_SERVER"
	askedDispatch = "REDISLIMIT_TEST_DISPATCH"
)

// Ensure that processes which ask about the same subject at the same time, in
// whatever way they dispatch, are admitted exactly the quota between them.
func TestProcessesShareTheQuota(t *testing.T) {
	if server := os.Getenv(askedServer); server != "" {
		answerAsProcess(t, server, askAlone)
		return
	}
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		admitted, want := askFromProcesses(t, server, processes), make(map[string]int64)
		for _, spec := range endless(sharedQuota) {
			want[spec.ID] = sharedQuota
		}
		if !maps.Equal(admitted, want) {
			t.Errorf("admitted %v, must be %v", admitted, want)
		}
	})
}

// askFromProcesses runs the test in other processes, which dispatch in turn in all
// ways, lets them ask at the same time, and sums what they were admitted.
func askFromProcesses(t *testing.T, server *redistest.Server, processes int) map[string]int64 {
	t.Helper()
	var asking []*process
	for n := range processes {
		dispatches := redislimit.Dispatches()
		asking = append(asking, startProcess(t, server.Addr, dispatches[n%len(dispatches)]))
	}
	for _, p := range asking {
		p.awaitReady(t)
	}
	for _, p := range asking {
		p.release(t)
	}
	admitted := make(map[string]int64)
	for _, p := range asking {
		for what, n := range p.admitted(t) {
			admitted[what] += n
		}
	}
	return admitted
}

// answerAsProcess is the other end of process: it says that it is ready, waits for
// the end of its input, asks, and says what was admitted.
func answerAsProcess(t *testing.T, server string, ask func(*testing.T, *redislimit.Limiter) map[string]int64) {
	t.Helper()
	c := config(t, server, endless(sharedQuota)...)
	c.Dispatch, c.PoolSize = redislimit.Dispatch(os.Getenv(askedDispatch)), 16
	limiter := newLimiter(t, c)
	say := json.NewEncoder(os.Stdout)
	ready := limiter.Prepare(during(t, callerTimeout)) == nil
	if err := say.Encode(ready); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		t.Fatal(err)
	}
	if err := say.Encode(ask(t, limiter)); err != nil {
		t.Fatal(err)
	}
}

// askAlone counts by policy what one subject is admitted.
func askAlone(t *testing.T, limiter *redislimit.Limiter) map[string]int64 {
	t.Helper()
	var requests []ratelimit.Request
	for _, spec := range endless(sharedQuota) {
		requests = append(requests, request(t, spec.ID, "somebody", 1))
	}
	var mu sync.Mutex
	admitted := make(map[string]int64)
	var callers sync.WaitGroup
	for range callersPerProcess {
		callers.Go(func() {
			for range callsPerCaller {
				for _, one := range requests {
					outcome := evaluate(t, limiter, one)
					evaluated, decided := outcome.(ratelimit.Evaluated)
					if !decided {
						t.Errorf("outcome is %q, must be a decision", label(outcome))
					}
					if decided && evaluated.Decision.Allowed {
						mu.Lock()
						admitted[one.PolicyID()]++
						mu.Unlock()
					}
				}
			}
		})
	}
	callers.Wait()
	return admitted
}

// process is a test in another process.
type process struct {
	command *exec.Cmd
	input   io.Closer
	stdout  io.Reader
	output  *json.Decoder // of stdout
}

func startProcess(t *testing.T, server string, dispatch redislimit.Dispatch) *process {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	test, _, _ := strings.Cut(t.Name(), "/")
	command := exec.CommandContext(t.Context(), program, "-test.run=^"+test+"$")
	command.Env = append(os.Environ(), askedServer+"="+server, askedDispatch+"="+string(dispatch))
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	return &process{command: command, input: input, stdout: stdout, output: json.NewDecoder(stdout)}
}

func (p *process) awaitReady(t *testing.T) {
	t.Helper()
	var ready bool
	if err := p.output.Decode(&ready); err != nil || !ready {
		t.Fatalf("a process says ready: %t, error %v", ready, err)
	}
}

func (p *process) release(t *testing.T) {
	t.Helper()
	if err := p.input.Close(); err != nil {
		t.Fatal(err)
	}
}

func (p *process) admitted(t *testing.T) map[string]int64 {
	t.Helper()
	var admitted map[string]int64
	if err := p.output.Decode(&admitted); err != nil {
		t.Fatalf("a process does not say what it was admitted: %v", err)
	}
	rest, err := io.ReadAll(io.MultiReader(p.output.Buffered(), p.stdout))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Wait(); err != nil {
		t.Errorf("a process failed: %v\n%s", err, rest)
	}
	return admitted
}
