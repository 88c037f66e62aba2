package redistest

import "context"

// machine is what a server runs in. Its methods are not safe for concurrent
// use. After kill and start the server has the same address, and of its
// data what it had written to disk.
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

// launch starts a server of lane.
func launch(ctx context.Context, lane Lane, how setup) (machine, error) {
	if lane.path != "" {
		return newProcess(ctx, lane.path, how)
	}
	return newContainer(ctx, lane.image, how)
}
