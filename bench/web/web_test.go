package web

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Ensure that wrk's counts are found among what else it prints.
func TestParse(t *testing.T) {
	got, err := parse([]byte("Running 1s test\n  Requests/sec: 9\n" +
		`summary: {"requests": 120, "micros": 1000100, "p50_us": 31, "p99_us": 99, "failed": 0}` + "\n"))
	if want := (summary{Requests: 120, Micros: 1000100, P50: 31, P99: 99}); err != nil || got != want {
		t.Errorf("summary is %+v, %v; want %+v", got, err, want)
	}
	for _, output := range []string{"", "Running 1s test\n", "summary: {\n", `{"requests": 120}`} {
		if got, err := parse([]byte(output)); err == nil {
			t.Errorf("%q was read as %+v", output, got)
		}
	}
}

// Ensure that answers other than successes make a measurement worth nothing, as
// no answers do.
func TestSummaryCheck(t *testing.T) {
	if err := (summary{Requests: 10, Micros: 1000}).check(); err != nil {
		t.Errorf("refused: %v", err)
	}
	for _, s := range []summary{{Requests: 10, Micros: 1000, Failed: 1}, {Micros: 1000}, {}} {
		if err := s.check(); err == nil {
			t.Errorf("%+v was believed", s)
		}
	}
}

// Ensure that the paths that need no Redis answer through the middleware, and
// that a server ends with its input.
func TestServe(t *testing.T) {
	for _, name := range []string{"http/no-op-port", "http/local-limiter"} {
		t.Run(name, func(t *testing.T) {
			input, parent := io.Pipe()
			output, child := io.Pipe()
			served := make(chan error, 1)
			go func() { served <- Serve(t.Context(), name, "", input, child) }()
			address, err := bufio.NewReader(output).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			response, err := http.Get("http://" + strings.TrimSpace(address) + "/quotes")
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK || response.Header.Get("RateLimit-Policy") == "" {
				t.Errorf("answer is %s with %v", response.Status, response.Header)
			}
			_ = parent.Close()
			if err := <-served; err != nil {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// Ensure that a path that does not exist is refused.
func TestServeRefuses(t *testing.T) {
	if err := Serve(t.Context(), "http/nothing", "", strings.NewReader(""), io.Discard); err == nil {
		t.Error("it was served")
	}
}
