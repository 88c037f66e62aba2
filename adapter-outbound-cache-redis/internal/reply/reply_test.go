package reply_test

import (
	"slices"
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

// Ensure that the replies of several levels are told apart, and refused unless they
// are as many as the levels and of one moment.
func TestParseLevels(t *testing.T) {
	const now = int64(1_796_000_000_000)
	level := func(status string, remaining int64) []any {
		retry := int64(0)
		if status == "DENIED" {
			retry = 1
		}
		return []any{status, now, now, int64(5), remaining, retry, now}
	}
	set := slices.Concat(level("ALLOWED", 4), level("DENIED", 0), level("ALLOWED", 2))
	with := func(place int, value any) []any {
		changed := slices.Clone(set)
		changed[place] = value
		return changed
	}
	got, err := reply.ParseLevels(set, 3)
	if err != nil || len(got) != 3 || got[0].Remaining != 4 || got[1].Status != reply.Denied || got[2].Remaining != 2 {
		t.Errorf("%v, %v; must be the three levels", got, err)
	}
	unsafe := slices.Concat(level("ALLOWED", 4), []any{"CLOCK_UNSAFE", now, now, int64(0), int64(0), int64(9), int64(0)})
	if got, err := reply.ParseLevels(unsafe, 2); err != nil || got[1].RetryAfterMillis != 9 {
		t.Errorf("%v, %v; must be an admission and an unsafe clock", got, err)
	}
	for name, row := range map[string]struct {
		raw    any
		levels int
	}{
		"no array":                      {"ALLOWED", 3},
		"nothing":                       {[]any{}, 3},
		"one invalid reply for all":     {[]any{"INVALID", now, now, int64(0), int64(0), int64(0), int64(0)}, 3},
		"a level too few":               {set[:14], 3},
		"a level too many":              {set, 2},
		"a field too few":               {set[:20], 3},
		"a field too many":              {append(slices.Clone(set), int64(0)), 3},
		"zeros for a level":             {append(set[:14:14], int64(0), int64(0), int64(0), int64(0), int64(0), int64(0), int64(0)), 3},
		"a level of another moment":     {with(15, now-1), 3},
		"a level that is no reply":      {with(14, "allowed"), 3},
		"a denial without a wait":       {with(12, int64(0)), 3},
		"an admission above its limit":  {with(4, int64(6)), 3},
		"a reply inside of the replies": {[]any{level("ALLOWED", 4), level("DENIED", 0), level("ALLOWED", 2)}, 3},
	} {
		if got, err := reply.ParseLevels(row.raw, row.levels); err == nil {
			t.Errorf("%s: accepted as %+v", name, got)
		}
	}
}
