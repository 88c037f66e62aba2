package locallimit

import (
	"fmt"
	"sync"
	"time"
)

// MaxCharges bounds the charges of one [Layers.Take].
const MaxCharges = 8

// Layers limits at several levels at once, in this process: a request is charged
// at all of its levels or at none. It is safe for concurrent use. [NewLayers]
// makes one.
type Layers struct {
	maxSubjects int
	start       time.Time // carries the monotonic clock

	mu       sync.Mutex
	counters map[string]*counter
}

// NewLayers returns a limiter that keeps at most maxSubjects windows for each
// counter, 1 to [MaxSubjects], or a [FieldError].
func NewLayers(maxSubjects int) (*Layers, error) {
	var faults Faults
	if faults.addUnlessOneTo("max-subjects", maxSubjects, MaxSubjects); len(faults) > 0 {
		return nil, faults[0]
	}
	return &Layers{maxSubjects: maxSubjects, start: time.Now(), counters: make(map[string]*counter)}, nil
}

// Charge is what a request spends at one level.
type Charge struct {
	// Counter names what is counted, such as a policy and its revision. All
	// charges of one counter must have the same Window as long as any of them
	// counts. It is for the program to choose, and not for clients: each counter
	// has a table of its own.
	Counter string
	// Key is the subject. It is kept as long as the subject is remembered, as that
	// of [Limiter.Take].
	Key string
	// Limit is 1 to [MaxLimit], and may differ from call to call.
	Limit int
	// Window is [MinWindow] to [MaxWindow], in whole milliseconds.
	Window time.Duration
	// Cost is 1 to Limit.
	Cost int
}

// Take charges all of charges or, if one of them would exceed its limit, none. It
// returns what each says by itself, in their order: one that admits what another
// refuses says what is left without the charge, and its Reset is zero if nothing
// was spent.
//
// There must be 1 to [MaxCharges] charges, no two of them with the same counter
// and key. The error is a [FieldError] with a field such as "charges[1].limit",
// and with it nothing was spent.
func (l *Layers) Take(charges []Charge) ([]Result, error) {
	if err := check(charges); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Since(l.start) // under the lock, so that no window sees it run backwards
	var room [MaxCharges]level
	levels := room[:len(charges)]
	if err := l.find(levels, charges, now); err != nil {
		return nil, err
	}
	results := make([]Result, len(charges))
	if !judge(levels, results, now) {
		return results, nil
	}
	spend(levels, now)
	for i, level := range levels {
		results[i] = level.counter.admitted(level.account, level.Limit, now)
	}
	return results, nil
}

// level is a charge, and the account that decides about it.
type level struct {
	Charge
	counter *counter
	account account
}

// find fills levels with the accounts of charges.
func (l *Layers) find(levels []level, charges []Charge, now time.Duration) error {
	l.forgetUnlessFit(charges, now)
	for i, charge := range charges {
		counter, known := l.counters[charge.Counter]
		if !known {
			counter = newCounter(charge.Window, l.maxSubjects)
			l.counters[charge.Counter] = counter
		}
		if counter.span != charge.Window {
			return fault(i, "window", "is %v, must be that of counter %s, %v", charge.Window, charge.Counter, counter.span)
		}
		levels[i] = level{charge, counter, counter.find(charge.Key, now)}
	}
	return nil
}

// forgetUnlessFit removes the counters that remember nothing, such as those of
// policies that are gone, when one of charges needs a new one.
func (l *Layers) forgetUnlessFit(charges []Charge, now time.Duration) {
	fit := true
	for _, charge := range charges {
		counter, known := l.counters[charge.Counter]
		fit = fit && known && counter.span == charge.Window
	}
	if fit {
		return
	}
	for name, counter := range l.counters {
		if counter.idle(now) {
			delete(l.counters, name)
		}
	}
}

// judge fills results with what levels say before anything is charged, and
// reports whether all of them admit their charge.
func judge(levels []level, results []Result, now time.Duration) bool {
	allowed := true
	for i, level := range levels {
		if level.account.allows(level.Cost, level.Limit) {
			results[i] = level.counter.admitted(level.account, level.Limit, now)
			continue
		}
		results[i] = level.counter.denied(level.account, level.Cost, level.Limit, now)
		allowed = false
	}
	return allowed
}

// spend charges levels, those first whose subjects have a window, so that it is
// not taken from them for those who have none.
func spend(levels []level, now time.Duration) {
	var newcomers [MaxCharges]bool
	for i := range levels {
		if newcomers[i] = levels[i].account.known == nil; !newcomers[i] {
			levels[i].charge(now)
		}
	}
	for i := range levels {
		if newcomers[i] {
			levels[i].charge(now)
		}
	}
}

func (l *level) charge(now time.Duration) { l.counter.charge(&l.account, l.Cost, now) }

// check returns the first fault of charges, as far as it does not depend on what
// was charged before.
func check(charges []Charge) error {
	if n := len(charges); n < 1 || n > MaxCharges {
		return FieldError{Field: "charges", Problem: fmt.Sprintf("are %d, must be 1 to %d", n, MaxCharges)}
	}
	for i, charge := range charges {
		if faults := charge.faults(); len(faults) > 0 {
			return fault(i, faults[0].Field, "%s", faults[0].Problem)
		}
		for _, earlier := range charges[:i] {
			if earlier.Counter == charge.Counter && earlier.Key == charge.Key {
				return fault(i, "key", "is charged twice to counter %s", charge.Counter)
			}
		}
	}
	return nil
}

func (c Charge) faults() Faults {
	var faults Faults
	faults.addUnlessOneTo("limit", c.Limit, MaxLimit)
	faults.addUnlessWindow(c.Window)
	if len(faults) == 0 {
		faults.addUnlessOneTo("cost", c.Cost, c.Limit)
	}
	return faults
}

func fault(i int, field, format string, args ...any) error {
	return FieldError{Field: fmt.Sprintf("charges[%d].%s", i, field), Problem: fmt.Sprintf(format, args...)}
}
