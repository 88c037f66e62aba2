package certainty

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/weir/shared-contract/failure"
)

// Failure says what became of a command that brought no reply.
type Failure struct {
	// Certain: the command changed nothing. Otherwise it may have been executed.
	Certain  bool
	Category failure.Category
	// Unloaded: the server does not know the program. Certain.
	Unloaded bool
	// Waited is, without a reply, how long the server had to send one.
	Waited time.Duration
	// Left: the caller has left, and what became of the command is not known yet.
	Left bool
	// Err is the cause, for logs.
	Err error
}

// Error joins category and cause.
func (f *Failure) Error() string { return string(f.Category) + ": " + f.Err.Error() }

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Classify says what became of a command that ended with err, or nil when it
// brought a reply, be it an empty one.
func (c Command) Classify(err error) *Failure {
	return c.ClassifyInBatch(err, math.MaxInt)
}

// ClassifyInBatch is Classify for a command that was written together with
// others, in one piece of which the first end bytes hold it and those before it:
// if not all of these were written, the server has not got the command.
func (c Command) ClassifyInBatch(err error, end int) *Failure {
	if err == nil || errors.Is(err, redis.Nil) || c.marker.answered {
		return nil
	}
	if !c.Dispatched() {
		return ClassifyUndispatched(err)
	}
	var unwritten *WriteError
	if errors.As(err, &unwritten) && unwritten.Written < end {
		return certain(failure.Connection, err)
	}
	var refused redis.Error
	if errors.As(err, &refused) {
		return classifyRefusal(refused.Error(), err)
	}
	return &Failure{Category: failure.NoReply, Waited: time.Since(c.marker.sent), Err: err}
}

// ClassifyUndispatched says why a command that changes no limiter state, or one
// that never reached a connection, failed. Such a failure is always certain.
func ClassifyUndispatched(err error) *Failure {
	switch {
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return certain(failure.Saturated, err)
	case errors.Is(err, redis.ErrClosed):
		return certain(failure.ShuttingDown, err)
	case errors.Is(err, context.Canceled):
		return certain(failure.Cancelled, err)
	}
	var refused redis.Error
	if errors.As(err, &refused) {
		f := classifyRefusal(refused.Error(), err)
		if !f.Certain {
			return certain(failure.StoreUnready, err)
		}
		return f
	}
	return certain(failure.Connection, err)
}

func classifyRefusal(text string, err error) *Failure {
	word, rest, _ := strings.Cut(text, " ")
	if word == "NOSCRIPT" {
		return &Failure{Certain: true, Category: failure.StoreUnready, Unloaded: true, Err: err}
	}
	if strings.Contains(rest, "killed by user with SCRIPT KILL") {
		return certain(failure.StoreUnready, err) // a program that has written cannot be killed
	}
	running := strings.Contains(rest, " script: ") || strings.Contains(rest, "@user_script")
	if category, known := refusal(word, rest); known && (!running || raisedAtFirstWrite(word)) {
		return certain(category, err)
	}
	if word == "NOPERM" ||
		strings.HasPrefix(rest, "ACL failure in script") ||
		strings.HasPrefix(rest, "The user executing the script") {
		return &Failure{Category: failure.AccessDenied, Err: err}
	}
	return &Failure{Category: failure.ScriptError, Err: err}
}

// refusal knows the error replies that a server sends before it runs a program.
func refusal(word, rest string) (failure.Category, bool) {
	switch word {
	case "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY", "READONLY":
		return failure.StoreUnready, true
	case "OOM", "MISCONF", "NOREPLICAS":
		return failure.StoreFull, true
	case "NOAUTH", "WRONGPASS", "NOPERM":
		return failure.AccessDenied, true
	case "MOVED", "ASK", "CROSSSLOT":
		return failure.Unsupported, true // a cluster, which this adapter does not speak to
	}
	switch {
	case strings.HasPrefix(rest, "max number of clients"):
		return failure.StoreUnready, true
	case strings.HasPrefix(rest, "unknown command"),
		strings.HasPrefix(rest, "DB index is out of range"),
		strings.HasPrefix(rest, "Error compiling script"),
		strings.HasPrefix(rest, "Unexpected flag in script"):
		return failure.Unsupported, true // too old a server, or a database that it has not
	}
	return "", false
}

// raisedAtFirstWrite knows the refusals that a server also raises inside a
// running program, and there only as long as the program has written nothing.
func raisedAtFirstWrite(word string) bool {
	switch word {
	case "READONLY", "OOM", "MISCONF", "NOREPLICAS", "MASTERDOWN":
		return true
	}
	return false
}

func certain(category failure.Category, err error) *Failure {
	return &Failure{Certain: true, Category: category, Err: err}
}
