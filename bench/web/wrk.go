package web

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

//go:embed *.lua
var scripts embed.FS

// summary is what report.lua prints.
type summary struct {
	Requests int64 `json:"requests"`
	Micros   int64 `json:"micros"`
	P50      int64 `json:"p50_us"`
	P99      int64 `json:"p99_us"`
	// Failed counts connections that failed, time-outs, and every answer that is
	// no success.
	Failed int64 `json:"failed"`
}

func (s summary) check() error {
	if s.Failed > 0 {
		return fmt.Errorf("%d of %d requests failed", s.Failed, s.Requests)
	}
	if s.Requests == 0 || s.Micros == 0 {
		return fmt.Errorf("nothing was answered")
	}
	return nil
}

// wrk is the load generator, with the scripts where it finds them.
type wrk struct {
	directory string
}

// newWrk needs wrk on PATH. The caller removes what it has unpacked.
func newWrk() (wrk, error) {
	if _, err := exec.LookPath("wrk"); err != nil {
		return wrk{}, fmt.Errorf("the comparison over HTTP needs wrk: %w", err)
	}
	directory, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return wrk{}, err
	}
	return wrk{directory}, os.CopyFS(directory, scripts)
}

func (w wrk) remove() error { return os.RemoveAll(w.directory) }

// run loads address for a time and tells what was answered.
func (w wrk) run(ctx context.Context, script, address string, connections int, duration time.Duration) (summary, error) {
	// wrk knows whole seconds only.
	seconds := strconv.Itoa(max(1, int(duration.Round(time.Second).Seconds())))
	command := exec.CommandContext(ctx, "wrk",
		"--threads", "1", "--connections", strconv.Itoa(connections), "--duration", seconds+"s",
		"--script", filepath.Join(w.directory, script), "http://"+address+"/quotes")
	command.Env = append(os.Environ(), "LUA_PATH="+filepath.Join(w.directory, "?.lua"))
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return summary{}, fmt.Errorf("wrk: %w: %s", err, stderr.Bytes())
	}
	return parse(output)
}

// marker starts the line of report.lua; all else is wrk's own prose.
var marker = []byte("summary: ")

func parse(output []byte) (summary, error) {
	for line := range bytes.Lines(output) {
		text, found := bytes.CutPrefix(line, marker)
		if !found {
			continue
		}
		var s summary
		err := json.Unmarshal(text, &s)
		return s, err
	}
	return summary{}, fmt.Errorf("wrk printed no summary: %s", output)
}
