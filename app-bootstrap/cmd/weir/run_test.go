package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Ensure that a command line is answered with its exit code, on the right
// stream.
func TestRun_CommandLine(t *testing.T) {
	for _, test := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string // what they contain
	}{
		{"help", []string{"--help"}, exitStopped, "Usage:", ""},
		{"short help", []string{"-h"}, exitStopped, "Usage:", ""},
		{"help of serve", []string{"serve", "--help"}, exitStopped, "Usage:", ""},
		{"help as a word", []string{"help"}, exitStopped, "Usage:", ""},
		{"version", []string{"version"}, exitStopped, "weir ", ""},
		{"unknown command", []string{"sevre"}, exitUsage, "", `unknown command "sevre"`},
		{"unknown flag", []string{"--confg", "x"}, exitUsage, "", "confg"},
		{"flag of another command", []string{"version", "--set", "a=b"}, exitUsage, "", "set"},
		{"flag without value", []string{"serve", "--config"}, exitUsage, "", "config"},
		{"further arguments", []string{"serve", "hunter2"}, exitUsage, "", "serve takes flags only"},
		{"unknown level", []string{"--log-level", "loud"}, exitUsage, "", "must be debug, info, warn or error"},
		{"file that does not exist", []string{"--config", "/no/such/file"}, exitUsage, "", "--config: cannot read /no/such/file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), test.args, nil, &stdout, &stderr)
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if !strings.Contains(stdout.String(), test.stdout) || (test.stdout == "" && stdout.Len() > 0) {
				t.Errorf("stdout %q, want %q", &stdout, test.stdout)
			}
			if !strings.Contains(stderr.String(), test.stderr) || (test.stderr == "" && stderr.Len() > 0) {
				t.Errorf("stderr %q, want %q", &stderr, test.stderr)
			}
			if strings.Contains(stderr.String(), "hunter2") {
				t.Errorf("an argument is repeated: %q", &stderr)
			}
		})
	}
}

// Ensure that all faults come in one message, with exit code 2 and no secret.
func TestRun_FaultyConfiguration(t *testing.T) {
	file := writeFile(t, "weir.yaml", `
app:
  web: {adress: x, evaluation-deadline: 60}
  rate-limit:
    redis: {endpoint: "redis://user:hunter2@127.0.0.1:1", password: hunter2, hmac-secret: hunter2}
`)
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), nil, []string{"WEIR_CONFIG=" + file, "APP_WEB__HEADERS=all", "APP_ENV=x"}, &stdout, &stderr)
	if code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
	for _, key := range []string{
		"the configuration has 6 faults",
		"app.rate-limit.default-policy: ",
		"app.rate-limit.redis.endpoint: ",
		"app.rate-limit.redis.hmac-secret: ",
		"app.web.adress: ",
		"app.web.evaluation-deadline: ",
		"app.web.headers: ",
	} {
		if !strings.Contains(stderr.String(), key) {
			t.Errorf("no %q in\n%s", key, &stderr)
		}
	}
	if strings.Contains(stderr.String(), "hunter2") {
		t.Errorf("a secret is printed:\n%s", &stderr)
	}
}

// Ensure that --config wins over WEIR_CONFIG.
func TestRun_ConfigFlagWins(t *testing.T) {
	var stderr bytes.Buffer
	run(t.Context(), []string{"--config", "/flag"}, []string{"WEIR_CONFIG=/variable"}, &bytes.Buffer{}, &stderr)
	if text := stderr.String(); !strings.Contains(text, "/flag") || strings.Contains(text, "/variable") {
		t.Errorf("stderr %q", text)
	}
}

// Ensure that an address in use ends the program with code 1 and a message that
// names the key and the address.
func TestRun_AddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	args := append([]string{}, anyPorts...)
	args = append(args, "--set", "app.web.address="+taken.Addr().String())
	var stderr bytes.Buffer
	if code := run(t.Context(), args, nil, &bytes.Buffer{}, &stderr); code != exitFailure {
		t.Errorf("exit code %d, want %d", code, exitFailure)
	}
	if want := "app.web.address: " + taken.Addr().String() + " is in use"; !strings.Contains(stderr.String(), want) {
		t.Errorf("no %q in\n%s", want, &stderr)
	}
}

// Ensure that the program stops cleanly when it is told to while it starts.
func TestRun_StoppedAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr bytes.Buffer
	if code := run(ctx, anyPorts, []string{"APP_ENV=production"}, &bytes.Buffer{}, &stderr); code != exitStopped {
		t.Errorf("exit code %d\n%s", code, &stderr)
	}
}

// Ensure that without any configuration a client gets 60 requests a minute and
// then a refusal that says how long to wait.
func TestWeir_LocalLimit(t *testing.T) {
	weir := start(t)
	for i := 1; i <= 60; i++ {
		got := send(t, get(weir.public+"/path/"+strconv.Itoa(i)))
		if got.status != http.StatusOK {
			t.Fatalf("request %d is answered %d %s", i, got.status, got.body)
		}
		if want := `"local";q=60;w=60`; got.header.Get("RateLimit-Policy") != want {
			t.Fatalf("RateLimit-Policy %q, want %q", got.header.Get("RateLimit-Policy"), want)
		}
		if want := strconv.Itoa(60 - i); got.header.Get("X-RateLimit-Remaining") != want {
			t.Fatalf("request %d leaves %q, want %q", i, got.header.Get("X-RateLimit-Remaining"), want)
		}
	}
	denied := send(t, get(weir.public+"/"))
	if denied.status != http.StatusTooManyRequests {
		t.Fatalf("request 61 is answered %d", denied.status)
	}
	if wait, err := strconv.Atoi(denied.header.Get("Retry-After")); err != nil || wait < 1 || wait > 61 {
		t.Errorf("Retry-After %q", denied.header.Get("Retry-After"))
	}
	for name, want := range map[string]string{
		"Content-Type": "application/problem+json", "Cache-Control": "no-store", "X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0",
	} {
		if got := denied.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	var problem struct {
		Type             string
		PolicyID         string   `json:"policyId"`
		ViolatedPolicies []string `json:"violated-policies"`
	}
	if err := json.Unmarshal([]byte(denied.body), &problem); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(problem.Type, "#quota-exceeded") || problem.PolicyID != "local" || len(problem.ViolatedPolicies) != 1 {
		t.Errorf("problem %s", denied.body)
	}
	if got := send(t, weir.evaluate(`{"subject":"x"}`)); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, `"disabled"`) {
		t.Errorf("an evaluation is answered %d %s", got.status, got.body)
	}
	weir.stop(t)
}

// Ensure that each of the two signals stops a process cleanly.
func TestWeir_FirstSignal(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			weir := start(t)
			weir.signal(t, signal)
			if code := weir.wait(t); code != exitStopped {
				t.Errorf("exit code %d\n%s", code, weir.stderr)
			}
		})
	}
}

// Ensure that a second signal ends a process that is still waiting.
func TestWeir_SecondSignal(t *testing.T) {
	weir := start(t, "--set", "app.web.shutdown.delay=5m")
	weir.signal(t, syscall.SIGTERM)
	eventually(t, "the stop begins", func() bool { return strings.Contains(weir.stderr.String(), "msg=stopping") })
	weir.signal(t, syscall.SIGTERM)
	if code := weir.wait(t); code != exitFailure {
		t.Errorf("exit code %d\n%s", code, weir.stderr)
	}
}
