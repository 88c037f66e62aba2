//go:build system

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"
)

const (
	gibibyte = 1 << 30
	// mostMemory is what a weir may need while a gibibyte passes, its program
	// included, in KiB.
	mostMemory = 50 << 10
)

// built is the program as it is delivered: without what tests add to it.
func built(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "weir")
	if output, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return program
}

// inFrontOfProgram is inFrontOf for a program that was built.
func inFrontOfProgram(t *testing.T, program string, application http.HandlerFunc, args ...string) *process {
	t.Helper()
	server := httptest.NewServer(application)
	t.Cleanup(server.Close)
	all := append([]string{"serve", "--set", "app.web.upstream=" + server.URL}, anyPorts...)
	return launchProgram(t, program, nil, append(append(all, unlimited...), args...)...).serving(t)
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// memory is the most that p has needed so far, in KiB.
func (p *process) memory(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	found := highWater.FindSubmatch(status)
	if found == nil {
		t.Fatalf("no high-water mark in\n%s", status)
	}
	kib, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kib
}

// zeros is size bytes.
func zeros(size int64) io.Reader { return io.LimitReader(zero{}, size) }

type zero struct{}

func (zero) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Ensure that a gibibyte passes in each direction, of known length and in chunks,
// over HTTP/1 and HTTP/2, without being held in memory.
func TestSystemGatewayStreams(t *testing.T) {
	program := built(t)
	application := func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			read, err := io.Copy(io.Discard, r.Body)
			if err != nil {
				t.Error(err)
			}
			fmt.Fprint(w, read)
			return
		}
		if r.URL.Query().Has("known") {
			w.Header().Set("Content-Length", strconv.Itoa(gibibyte))
		}
		_, _ = io.Copy(w, zeros(gibibyte))
	}
	inClear := &http.Transport{Protocols: new(http.Protocols)}
	inClear.Protocols.SetUnencryptedHTTP2(true)
	for name, client := range map[string]*http.Client{
		"HTTP/1": {Transport: new(http.Transport)},
		"HTTP/2": {Transport: inClear},
	} {
		t.Run(name, func(t *testing.T) {
			defer client.CloseIdleConnections()
			weir := inFrontOfProgram(t, program, application, "--set", "app.web.h2c=true")
			for _, length := range []int64{gibibyte, -1} {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, weir.public, zeros(gibibyte))
				if err != nil {
					t.Fatal(err)
				}
				request.ContentLength = length
				begin := time.Now()
				answer, err := client.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(answer.Body)
				_ = answer.Body.Close()
				if err != nil || string(body) != strconv.Itoa(gibibyte) {
					t.Errorf("the application read %s, %v", body, err)
				}
				t.Logf("upload of length %d: %v, at most %d KiB of memory", length, time.Since(begin), weir.memory(t))
			}
			for _, query := range []string{"?known", "?chunks"} {
				begin := time.Now()
				answer, err := client.Do(get(weir.public + "/" + query))
				if err != nil {
					t.Fatal(err)
				}
				read, err := io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				if err != nil || read != gibibyte {
					t.Errorf("the client read %d, %v", read, err)
				}
				t.Logf("download %s: %v, at most %d KiB of memory", query, time.Since(begin), weir.memory(t))
			}
			if got := weir.memory(t); got > mostMemory {
				t.Errorf("weir needed %d KiB of memory, want at most %d", got, mostMemory)
			}
			weir.stop(t)
		})
	}
}

// Ensure that an upstream which takes ten seconds is waited for without being
// asked to.
func TestSystemGatewayWaits(t *testing.T) {
	const pause = 10 * time.Second
	weir := inFrontOfProgram(t, built(t), func(w http.ResponseWriter, _ *http.Request) {
		<-time.After(pause)
		_, _ = io.WriteString(w, "done")
	})
	begin := time.Now()
	got := send(t, get(weir.public+"/"))
	if took := time.Since(begin); got.status != http.StatusOK || got.body != "done" || took < pause {
		t.Errorf("answered %d %s after %v", got.status, got.body, took)
	}
	weir.stop(t)
}
