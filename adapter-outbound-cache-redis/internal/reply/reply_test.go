package reply_test

import (
	"testing"

	"example.com/weir/adapter-outbound-cache-redis/internal/reply"
)

// FuzzParse feeds fields of every type that a server can send. What is accepted
// as a decision must be one: within its limit, and with a wait exactly when
// denied.
func FuzzParse(f *testing.F) {
	f.Add("ALLOWED", int64(5), int64(4), int64(0), "1796004000000", 7)
	f.Add("DENIED", int64(5), int64(0), int64(1), "1796004000000", 7)
	f.Add("CLOCK_UNSAFE", int64(0), int64(0), int64(9), "0", 7)
	f.Add("INVALID", int64(0), int64(0), int64(0), "00", 6)
	f.Add("", int64(-1), int64(1<<53), int64(0), "1e3", 8)
	f.Fuzz(func(t *testing.T, status string, limit, remaining, retry int64, reset string, arity int) {
		const now = int64(1_796_000_000_000)
		fields := []any{status, now, now, limit, remaining, retry, reset, nil}
		got, err := reply.Parse(fields[:min(max(arity, 0), len(fields))])
		if err != nil {
			return
		}
		decision := got.Status == reply.Allowed || got.Status == reply.Denied
		switch {
		case arity != 7:
			t.Fatalf("%d fields were accepted", arity)
		case decision && (got.Limit < 1 || got.Remaining < 0 || got.Remaining > got.Limit || got.ResetAt < now):
			t.Fatalf("accepted %+v", got)
		case decision && (got.Status == reply.Denied) != (got.RetryAfterMillis > 0):
			t.Fatalf("accepted %+v", got)
		case !decision && (got.Limit != 0 || got.Remaining != 0 || got.ResetAt != 0):
			t.Fatalf("accepted %+v", got)
		}
	})
}

// Ensure that what is no array of seven scalars is refused without a panic.
func TestParseRefusesOtherShapes(t *testing.T) {
	for _, raw := range []any{
		nil, "ALLOWED", int64(1), []any{}, []any{nil, nil, nil, nil, nil, nil, nil},
		map[any]any{"status": "ALLOWED"}, []any{true, 1.5, nil, []any{}, "x", int64(0), int64(0)},
	} {
		if got, err := reply.Parse(raw); err == nil {
			t.Errorf("%v was accepted as %+v", raw, got)
		}
	}
}
