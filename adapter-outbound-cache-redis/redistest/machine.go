package redistest

import (
	"context"
	"strconv"
)

// machine is what a server runs in. Its methods are not safe for concurrent
// use. After kill and start the server has the same address and no data.
type machine interface {
	address() string
	// processID is that of a server which this machine itself runs, as the server
	// would tell it; 0 if somebody else runs it.
	processID() int
	pause(context.Context) error
	resume(context.Context) error
	kill(context.Context) error
	start(context.Context) error
	// remove ends the server, paused or not, and leaves nothing behind.
	remove(context.Context) error
	// log is what the server said last, to explain why it does not answer.
	log(context.Context) string
}

// arguments are those of a server that keeps nothing on disk. The caller's own
// come last and win.
func arguments(bind string, port int, own []string) []string {
	return append([]string{
		"--bind", bind,
		"--port", strconv.Itoa(port),
		"--protected-mode", "no",
		"--save", "",
		"--appendonly", "no",
	}, own...)
}

// launch starts a server of lane.
func launch(ctx context.Context, lane Lane, own []string) (machine, error) {
	if lane.path != "" {
		return newProcess(ctx, lane.path, own)
	}
	return newContainer(ctx, lane.image, own)
}
