package locallimit_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/weir/adapter-inbound-web/locallimit"
)

// layersModel has a model for each counter.
type layersModel map[string]model

func (m layersModel) take(charges []locallimit.Charge, now time.Duration) []locallimit.Result {
	results := make([]locallimit.Result, len(charges))
	judge := func() {
		for i, c := range charges {
			if _, known := m[c.Counter]; !known {
				m[c.Counter] = model{window: c.Window, log: make(map[string][]admission)}
			}
			results[i] = m[c.Counter].judge(c.Key, c.Limit, c.Cost, now)
		}
	}
	if judge(); !admitted(results) {
		return results
	}
	for _, c := range charges {
		m[c.Counter].spend(c.Key, c.Cost, now)
	}
	judge()
	for i := range results {
		results[i].Allowed, results[i].RetryAfter = true, 0
	}
	return results
}

// levelled draws charges of one to three levels, with windows that differ by
// counter, and limits and costs that differ by call.
func levelled(random *rand.Rand, limit int, window time.Duration, users int) []locallimit.Charge {
	least := max(1, limit/2)
	draw := func(counter, key string, limit int, window time.Duration) locallimit.Charge {
		return locallimit.Charge{Counter: counter, Key: key, Limit: limit, Window: window, Cost: 1 + random.IntN(min(limit, 3))}
	}
	all := []locallimit.Charge{
		draw("user", fmt.Sprint(random.IntN(users)), least+random.IntN(limit-least+1), window),
		draw("tenant", fmt.Sprint(random.IntN(2)), 2*limit, window),
		draw("everybody", "", 3*limit, min(2*window, locallimit.MaxWindow)),
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+random.IntN(len(all))]
}

// Ensure that every answer is that of the model.
func TestLayersAgreeWithModel(t *testing.T) {
	for _, shape := range shapes {
		t.Run(fmt.Sprintf("%d per %v", shape.limit, shape.window), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(3, uint64(shape.limit)))
				layers, m := newLayers(t, 3), make(layersModel)
				start := time.Now()
				for i := range 400 {
					time.Sleep(traffic(random, shape.window))
					charges := levelled(random, shape.limit, shape.window, 3)
					got, want := take(t, layers, charges...), m.take(charges, time.Since(start))
					if !slices.Equal(got, want) {
						t.Fatalf("request %d after %v: %+v\ngot  %+v\nwant %+v", i, time.Since(start), charges, got, want)
					}
				}
			})
		})
	}
}

// Ensure that no span of the window's length sees more than the limit admitted to
// one subject at any level, even when the tables are too small and subjects come
// and go, and that each denial names the shortest wait.
func TestLayersNeverMoreThanLimitInAnyWindow(t *testing.T) {
	for _, shape := range shapes {
		t.Run(fmt.Sprintf("%d per %v", shape.limit, shape.window), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(4, uint64(shape.limit)))
				layers := newLayers(t, 3)
				log := make(times)
				for range 10_000 {
					time.Sleep(traffic(random, shape.window) / 4)
					charges := levelled(random, shape.limit, shape.window, 8)
					denied := take(t, layers, charges...)
					log.record(t, charges, denied)
					if admitted(denied) || random.IntN(50) > 0 {
						continue
					}
					wait := longestWait(denied)
					time.Sleep(wait - 1)
					if admitted(take(t, layers, charges...)) {
						t.Fatalf("%+v was admitted before %v had passed", charges, wait)
					}
					time.Sleep(1)
					late := take(t, layers, charges...)
					if log.record(t, charges, late); !admitted(late) {
						t.Fatalf("%+v was denied after it had waited for %v", charges, wait)
					}
				}
			})
		})
	}
}

func longestWait(results []locallimit.Result) time.Duration {
	var longest time.Duration
	for _, result := range results {
		longest = max(longest, result.RetryAfter)
	}
	return longest
}

// times are those of what was admitted, unit by unit, by counter and key.
type times map[[2]string][]time.Time

// record notes charges that were admitted, and fails if one went beyond its limit.
func (all times) record(t testing.TB, charges []locallimit.Charge, results []locallimit.Result) {
	t.Helper()
	if !admitted(results) {
		return
	}
	for _, c := range charges {
		of := [2]string{c.Counter, c.Key}
		for range c.Cost {
			all[of] = append(all[of], time.Now())
		}
		last := len(all[of]) - 1
		if first := last - c.Limit; first >= 0 && all[of][last].Sub(all[of][first]) < c.Window {
			t.Fatalf("%v was admitted %d within %v", of, c.Limit+1, all[of][last].Sub(all[of][first]))
		}
	}
}
