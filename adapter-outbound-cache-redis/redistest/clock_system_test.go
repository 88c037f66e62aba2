//go:build system

package redistest

import (
	"testing"
	"time"
)

// Ensure that the server's clock is what the test sets, to the microsecond, for
// commands, programs and the expiry of keys, and that it goes backwards too.
func TestSystemServerWithClock(t *testing.T) {
	noon := time.Date(2030, time.March, 4, 12, 0, 0, 123_456_000, time.UTC)
	server, clock := StartWithClock(t, noon)
	client := server.Client(t)
	for _, moved := range []time.Duration{0, time.Microsecond, -time.Millisecond, 3650 * 24 * time.Hour, -3650 * 24 * time.Hour} {
		want := noon.Add(moved)
		clock.Set(t, want)
		if got := client.Time(t.Context()).Val(); !got.Equal(want) {
			t.Errorf("TIME is %v, must be %v", got.UTC(), want)
		}
		programs := client.Eval(t.Context(), "local t = redis.call('TIME') return t[1] * 1000000 + t[2]", nil).Val()
		if programs != want.UnixMicro() {
			t.Errorf("a program's TIME is %v, must be %d", programs, want.UnixMicro())
		}
	}

	clock.Set(t, noon)
	client.Set(t.Context(), "key", "value", time.Hour)
	clock.Set(t, noon.Add(time.Hour))
	if ttl, err := client.PTTL(t.Context(), "key").Result(); err != nil || ttl != 0 {
		t.Errorf("in its last millisecond the key has %v to live, error %v", ttl, err)
	}
	clock.Set(t, noon.Add(time.Hour+time.Millisecond))
	if n := client.Exists(t.Context(), "key").Val(); n != 0 {
		t.Error("a millisecond later it is still there")
	}
}
