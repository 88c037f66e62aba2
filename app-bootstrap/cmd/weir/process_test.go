package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for something that must happen.
const patience = 30 * time.Second

// process is a running weir.
type process struct {
	command *exec.Cmd
	stderr  *lockedBuffer
	exited  chan struct{}

	// public and management are the URLs of the listeners.
	public, management string
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// anyPorts lets processes run side by side.
var anyPorts = []string{"--set", "app.web.address=127.0.0.1:0", "--set", "app.web.management-address=127.0.0.1:0"}

// launch starts a process without waiting for it to serve.
func launch(t *testing.T, environ []string, args ...string) *process {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return launchProgram(t, program, environ, args...)
}

// launchProgram is launch for another program than the one of the tests.
func launchProgram(t *testing.T, program string, environ []string, args ...string) *process {
	t.Helper()
	p := &process{command: exec.Command(program, args...), stderr: new(lockedBuffer), exited: make(chan struct{})}
	p.command.Stderr = p.stderr
	p.command.Env = append([]string{asProgram + "=1", "GOCOVERDIR=" + t.TempDir(), "GORACE=atexit_sleep_ms=0"}, environ...)
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		_ = p.command.Wait() // the exit code is what counts
	}()
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		<-p.exited
	})
	return p
}

var addresses = regexp.MustCompile(`msg="weir is running" address=(\S+) managementAddress=(\S+)`)

// start starts a process on ports that the system chooses, and waits until it
// serves.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	return launch(t, nil, append(append([]string{"serve"}, anyPorts...), args...)...).serving(t)
}

// serving waits until p serves.
func (p *process) serving(t *testing.T) *process {
	t.Helper()
	eventually(t, "weir is running", func() bool {
		select {
		case <-p.exited:
			t.Fatalf("weir ended early:\n%s", p.stderr)
		default:
		}
		found := addresses.FindStringSubmatch(p.stderr.String())
		if found == nil {
			return false
		}
		p.public, p.management = "http://"+found[1], "http://"+found[2]
		return true
	})
	return p
}

func (p *process) signal(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := p.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// wait returns the exit code.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.exited:
		return p.command.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("weir does not end:\n%s", p.stderr)
		return 0
	}
}

// stop ends p as an operator would.
func (p *process) stop(t *testing.T) {
	t.Helper()
	http.DefaultClient.CloseIdleConnections() // a stop waits for those that have carried nothing yet
	p.signal(t, syscall.SIGTERM)
	if code := p.wait(t); code != exitStopped {
		t.Errorf("exit code %d\n%s", code, p.stderr)
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("not in %v: %s", patience, what)
}

// response is what came back, read to its end.
type response struct {
	status int
	header http.Header
	body   string
}

func send(t *testing.T, request *http.Request) response {
	t.Helper()
	got, err := try(request)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// try is send for goroutines that are not the test's.
func try(request *http.Request) (response, error) {
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return response{}, err
	}
	body, err := io.ReadAll(answer.Body)
	return response{answer.StatusCode, answer.Header, string(body)}, errors.Join(err, answer.Body.Close())
}

func get(url string, header ...string) *http.Request {
	return newRequest(http.MethodGet, url, "", header...)
}

// evaluate asks the decision API of p.
func (p *process) evaluate(body string) *http.Request {
	return newRequest(http.MethodPost, p.management+"/v1/evaluations", body, "Content-Type", "application/json")
}

func newRequest(method, url, body string, header ...string) *http.Request {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		panic(err) // of a URL in a test
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	return request
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
