package locallimit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"example.com/weir/adapter-inbound-web/locallimit"
)

// model is a sliding window that remembers every admission by itself. It
// differs from a plain log in one point: an admission stays as long as any other
// one of its slot.
type model struct {
	limit  int
	window time.Duration
	log    map[string][]admission
}

type admission struct {
	at, leaves time.Duration // from leaves on it no longer counts
	cost       int
}

func (m model) take(key string, now time.Duration) locallimit.Result {
	result := m.judge(key, m.limit, 1, now)
	if result.Allowed {
		m.spend(key, 1, now)
		result.Remaining, result.Reset = m.limit-m.counted(key, now), m.firstMoment(key, now, 0)
	}
	return result
}

// judge says what becomes of a request that is not charged.
func (m model) judge(key string, limit, cost int, now time.Duration) locallimit.Result {
	result := locallimit.Result{
		Allowed:   m.counted(key, now)+cost <= limit,
		Limit:     limit,
		Remaining: max(0, limit-m.counted(key, now)),
		Reset:     m.firstMoment(key, now, 0),
	}
	if !result.Allowed {
		result.RetryAfter = m.firstMoment(key, now, limit-cost)
	}
	return result
}

func (m model) spend(key string, cost int, now time.Duration) {
	width := (m.window + locallimit.Slots - 1) / locallimit.Slots
	for i, other := range m.log[key] {
		if other.at/width == now/width {
			m.log[key][i].leaves = now + m.window
		}
	}
	m.log[key] = append(m.log[key], admission{at: now, leaves: now + m.window, cost: cost})
}

// counted is how much counts at the time.
func (m model) counted(key string, at time.Duration) int {
	n := 0
	for _, admission := range m.log[key] {
		if at < admission.leaves {
			n += admission.cost
		}
	}
	return n
}

// firstMoment is how long after now no more than keep counts.
func (m model) firstMoment(key string, now time.Duration, keep int) time.Duration {
	if m.counted(key, now) <= keep {
		return 0
	}
	first := time.Duration(math.MaxInt64)
	for _, admission := range m.log[key] {
		if admission.leaves > now && m.counted(key, admission.leaves) <= keep {
			first = min(first, admission.leaves)
		}
	}
	return first - now
}

// traffic is a random pause: often none, often about a slot, seldom a window.
func traffic(random *rand.Rand, window time.Duration) time.Duration {
	switch random.IntN(20) {
	case 0:
		return time.Duration(random.Int64N(int64(2 * window)))
	case 1, 2, 3, 4:
		return window / locallimit.Slots * time.Duration(random.IntN(3))
	case 5, 6, 7, 8, 9:
		return time.Duration(random.Int64N(int64(window / 20)))
	default:
		return 0
	}
}

var shapes = []struct {
	limit  int
	window time.Duration
}{
	{1, time.Millisecond},
	{1, time.Minute},
	{3, 7 * time.Millisecond},
	{5, 1500 * time.Millisecond},
	{20, time.Second},
	{60, time.Minute},
	{150, 61 * time.Second},
	{10, locallimit.MaxWindow},
}

// Ensure that every answer is that of the model.
func TestAgreesWithModel(t *testing.T) {
	for _, shape := range shapes {
		t.Run(fmt.Sprintf("%d per %v", shape.limit, shape.window), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, uint64(shape.limit)))
				limiter := newLimiter(t, shape.limit, shape.window, 3)
				m := model{shape.limit, shape.window, make(map[string][]admission)}
				start := time.Now()
				for i := range 400 {
					time.Sleep(traffic(random, shape.window))
					key := string(rune('a' + random.IntN(3)))
					got, want := limiter.Take(key), m.take(key, time.Since(start))
					if got != want {
						t.Fatalf("request %d of %s after %v:\ngot  %+v\nwant %+v", i, key, time.Since(start), got, want)
					}
				}
			})
		})
	}
}

// Ensure that no span of the window's length sees more than the limit admitted
// to one subject, even when the table is too small and subjects come and go, and
// that each denial names the shortest wait.
func TestNeverMoreThanLimitInAnyWindow(t *testing.T) {
	for _, shape := range shapes {
		t.Run(fmt.Sprintf("%d per %v", shape.limit, shape.window), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(2, uint64(shape.limit)))
				limiter := newLimiter(t, shape.limit, shape.window, 3)
				admissions := make(map[string][]time.Time)
				take := func(key string) locallimit.Result {
					result := limiter.Take(key)
					if !result.Allowed {
						return result
					}
					admissions[key] = append(admissions[key], time.Now())
					times := admissions[key]
					if n := len(times); n > shape.limit && times[n-1].Sub(times[n-1-shape.limit]) < shape.window {
						t.Fatalf("%s was admitted %d times within %v", key, shape.limit+1, times[n-1].Sub(times[n-1-shape.limit]))
					}
					return result
				}
				for range 20_000 {
					time.Sleep(traffic(random, shape.window) / 4)
					key := string(rune('a' + random.IntN(8)))
					denied := take(key)
					if denied.Allowed || random.IntN(50) > 0 {
						continue
					}
					time.Sleep(denied.RetryAfter - 1)
					if take(key).Allowed {
						t.Fatalf("%s was admitted before %v had passed", key, denied.RetryAfter)
					}
					time.Sleep(1)
					if !take(key).Allowed {
						t.Fatalf("%s was denied after it had waited for %v", key, denied.RetryAfter)
					}
				}
			})
		})
	}
}
