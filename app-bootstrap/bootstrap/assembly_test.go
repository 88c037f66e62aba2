package bootstrap

import (
	"log/slog"
	"os"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"
	"go.uber.org/goleak"

	"example.com/weir/adapter-outbound-cache-redis/redistest"
	"example.com/weir/app-bootstrap/config"
)

var silent = slog.New(slog.DiscardHandler)

// Ensure that nothing is missing from the assembly, whatever is configured.
func TestAssembly_IsComplete(t *testing.T) {
	for name, cfg := range map[string]config.Config{
		"local":  localConfig(t),
		"redis":  redisConfig(t, "127.0.0.1:1"),
		"levels": layeredConfig(t, "local-fallback"),
	} {
		t.Run(name, func(t *testing.T) {
			if err := fx.ValidateApp(assembly(cfg, silent, nil)); err != nil {
				t.Error(err)
			}
		})
	}
}

// Ensure that the check above sees a part that nobody makes.
func TestAssembly_IncompleteIsSeen(t *testing.T) {
	if err := fx.ValidateApp(fx.Supply(localConfig(t), silent), fx.WithLogger(newEventLog), web()); err == nil {
		t.Error("an assembly without limits is valid")
	}
}

// footprint is what a part of the program costs while it runs.
type footprint struct {
	constructed []string
	goroutines  string // names them
	sockets     int
}

// footprintOf runs the part of the program that limits, and nothing else.
func footprintOf(t *testing.T, cfg config.Config) footprint {
	t.Helper()
	var events constructors
	var result limits
	existing, before := goleak.IgnoreCurrent(), openSockets(t)
	app := fx.New(
		fx.Supply(cfg, silent),
		fx.WithLogger(func() fxevent.Logger { return &events }),
		limiting(cfg),
		fx.Populate(&result),
	)
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	running := footprint{constructed: events.names}
	if err := leak(existing); err != nil {
		running.goroutines = err.Error()
	}
	for socket := range openSockets(t) {
		if !before[socket] {
			running.sockets++
		}
	}
	if err := app.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if hasPort := result.port != nil; hasPort == (result.local != nil) {
		t.Errorf("limits are %+v, want either a port or a local limiter", result)
	}
	return running
}

// constructors remembers which constructors of this package ran.
type constructors struct{ names []string }

func (c *constructors) LogEvent(event fxevent.Event) {
	run, ok := event.(*fxevent.Run)
	if !ok || run.Kind != "provide" {
		return
	}
	if _, name, ours := strings.Cut(run.Name, "/bootstrap."); ours {
		c.names = append(c.names, strings.TrimSuffix(name, "()"))
	}
}

// openSockets are the sockets of this process.
func openSockets(t *testing.T) map[string]bool {
	t.Helper()
	const directory = "/proc/self/fd"
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	sockets := make(map[string]bool)
	for _, entry := range entries {
		// A descriptor that is gone by now was the one of ReadDir.
		if target, err := os.Readlink(directory + "/" + entry.Name()); err == nil && strings.HasPrefix(target, "socket:") {
			sockets[target] = true
		}
	}
	return sockets
}

// Ensure that without an endpoint nothing of distributed limiting exists: no
// port, no client, no connection, no goroutine. With one, the same measurements
// see it. Timers that run no goroutine cannot be counted; that none of the
// constructors ran which could make one is what speaks for them.
func TestLimiting_DisabledLeavesNoTrace(t *testing.T) {
	server := redistest.Primary(t)
	existing := goleak.IgnoreCurrent()

	disabled := footprintOf(t, localConfig(t))
	if want := (footprint{constructed: []string{"newLocalLimits"}}); !reflect.DeepEqual(disabled, want) {
		t.Errorf("disabled: %+v, want %+v", disabled, want)
	}

	enabled := footprintOf(t, redisConfig(t, server.Addr))
	want := []string{"newCatalog", "newRedisLimiter", "newDistributedLimits"}
	if !reflect.DeepEqual(enabled.constructed, want) {
		t.Errorf("enabled: constructed %v, want %v", enabled.constructed, want)
	}
	if enabled.sockets < 1 {
		t.Errorf("enabled: %d sockets more than before, want a connection", enabled.sockets)
	}

	expectNoLeak(t, existing)
}

// Ensure that a goroutine that is left behind is seen by the check above.
func TestLimiting_LeakIsSeen(t *testing.T) {
	existing := goleak.IgnoreCurrent()
	release := make(chan struct{})
	go func() { <-release }()
	if err := goleak.Find(existing); err == nil {
		t.Error("a goroutine that was left behind was not found")
	}
	close(release)
	expectNoLeak(t, existing)
}
