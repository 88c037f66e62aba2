package load

import (
	"runtime"
	"syscall"
	"time"
)

// usage is what this process has used since it began, or since another usage.
type usage struct {
	at      time.Time
	elapsed time.Duration
	cpu     time.Duration
	mallocs uint64
}

func measure() usage {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	var process syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &process); err != nil {
		panic(err) // the arguments are constants
	}
	return usage{
		at:      time.Now(),
		cpu:     time.Duration(process.Utime.Nano() + process.Stime.Nano()),
		mallocs: memory.Mallocs,
	}
}

func (u usage) since(before usage) usage {
	return usage{
		at:      u.at,
		elapsed: u.at.Sub(before.at),
		cpu:     u.cpu - before.cpu,
		mallocs: u.mallocs - before.mallocs,
	}
}
