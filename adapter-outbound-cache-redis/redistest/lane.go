package redistest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// lanesVariable names the environment variable that says which lanes run.
const lanesVariable = "WEIR_TEST_LANES"

// processLane is the lane of the server that is found on PATH.
const processLane = "redis-server"

// errNoServer says what to do on a machine that can run no server.
var errNoServer = errors.New("no Redis to test against: run `make test`, or start Docker, or install redis-server")

//go:embed lanes.txt
var table string

// Lane is one kind of real server: a container image, or a program of this
// machine. The zero Lane is none.
type Lane struct {
	name  string
	image string // empty for a program
	path  string // absolute, empty for an image
}

// String is the lane's name, such as redis-7.0.
func (l Lane) String() string { return l.name }

// Lanes are the lanes that run, the oldest server first: at least one. It ends
// the test if there is none.
func Lanes(tb testing.TB) []Lane {
	tb.Helper()
	lanes, err := lanesOnce()
	if err != nil {
		tb.Fatal(err)
	}
	return lanes
}

// Lanes are decided once per binary: Docker is asked for half a dozen images,
// and the answer does not change while tests run.
var lanesOnce = sync.OnceValues(func() ([]Lane, error) {
	if list := os.Getenv(lanesVariable); list != "" {
		lanes, err := parseLanes(list)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", lanesVariable, err)
		}
		return lanes, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if lanes := laneImages(table, localImages(ctx)); len(lanes) > 0 {
		return lanes, nil
	}
	path, err := exec.LookPath(processLane)
	if err != nil {
		return nil, errNoServer
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	return []Lane{{name: processLane, path: path}}, nil
})

// parseLanes reads name=image and name=/absolute/path, separated by commas. An
// image's name never starts with a slash, so the two cannot be confused.
func parseLanes(list string) ([]Lane, error) {
	var lanes []Lane
	seen := make(map[string]bool)
	for entry := range strings.SplitSeq(list, ",") {
		name, server, ok := strings.Cut(strings.TrimSpace(entry), "=")
		if !ok || name == "" || server == "" {
			return nil, fmt.Errorf("lane %q must be name=image or name=/path", entry)
		}
		if seen[name] {
			return nil, fmt.Errorf("lane %s is given twice", name)
		}
		seen[name] = true
		lane := Lane{name: name, image: server}
		if filepath.IsAbs(server) {
			lane = Lane{name: name, path: server}
		}
		lanes = append(lanes, lane)
	}
	return lanes, nil
}

// laneImages gives the lanes of table, in its order, of which has says that an
// image is there. A local image goes before one from a registry.
func laneImages(table string, has func(image string) bool) []Lane {
	var lanes []Lane
	for line := range strings.Lines(table) {
		columns := strings.Fields(line)
		if len(columns) < 3 || strings.HasPrefix(columns[0], "#") {
			continue
		}
		for _, image := range columns[1:3] {
			if has(image) {
				lanes = append(lanes, Lane{name: columns[0], image: image})
				break
			}
		}
	}
	return lanes
}
