package locallimit_test

import (
	"strconv"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/locallimit"
)

// Ensure that a known subject costs no memory, admitted or denied.
func TestTakeAllocations(t *testing.T) {
	limiter := newLimiter(t, 500, time.Hour, 1)
	limiter.Take("subject")
	if got := testing.AllocsPerRun(1000, func() { limiter.Take("subject") }); got > 0 {
		t.Errorf("%v allocations, want none", got)
	}
}

// Ensure that several levels cost the memory of their answer, and nothing else.
func TestLayersTakeAllocations(t *testing.T) {
	layers := newLayers(t, 1)
	charges := []locallimit.Charge{user("u", 500), tenant("t", 400)}
	take(t, layers, charges...)
	if got := testing.AllocsPerRun(1000, func() { layers.Take(charges) }); got > 1 {
		t.Errorf("%v allocations, want one", got)
	}
}

func BenchmarkLayersTake(b *testing.B) {
	for levels := 1; levels <= 5; levels++ {
		b.Run(strconv.Itoa(levels), func(b *testing.B) {
			layers := newLayers(b, 1)
			var charges []locallimit.Charge
			for i := range levels {
				charges = append(charges, of(strconv.Itoa(i), "k", locallimit.MaxLimit))
			}
			b.ReportAllocs()
			for b.Loop() {
				layers.Take(charges)
			}
		})
	}
}

func BenchmarkTake(b *testing.B) {
	keys := make([]string, 1<<16)
	for i := range keys {
		keys[i] = "a pseudonym of 32 bytes, " + strconv.Itoa(1_000_000+i)
	}
	for _, benchmark := range []struct {
		name        string
		limit       int
		window      time.Duration
		maxSubjects int
		keys        []string
	}{
		{"admitted", locallimit.MaxLimit, time.Minute, 1, keys[:1]},
		{"admitted, all slots in use", locallimit.MaxLimit, 5 * time.Millisecond, 1, keys[:1]},
		{"denied", 1, time.Hour, 1, keys[:1]},
		{"many subjects", locallimit.MaxLimit, time.Hour, len(keys), keys},
		{"no room", 1, time.Hour, 100, keys},
	} {
		b.Run(benchmark.name, func(b *testing.B) {
			limiter := newLimiter(b, benchmark.limit, benchmark.window, benchmark.maxSubjects)
			for _, key := range benchmark.keys {
				limiter.Take(key)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				limiter.Take(benchmark.keys[i%len(benchmark.keys)])
			}
		})
	}
	b.Run("concurrent", func(b *testing.B) {
		limiter := newLimiter(b, locallimit.MaxLimit, time.Minute, 1)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				limiter.Take("subject")
			}
		})
	})
}
