package locallimit

import (
	"sync"
	"time"
)

// Limiter decides for each subject by what it has spent. [New] makes one.
type Limiter struct {
	config Config
	start  time.Time // carries the monotonic clock

	mu      sync.Mutex
	counter *counter
}

// New returns a limiter, or the [Faults] of config.
func New(config Config) (*Limiter, error) {
	if faults := config.faults(); len(faults) > 0 {
		return nil, faults
	}
	return &Limiter{
		config:  config,
		start:   time.Now(),
		counter: newCounter(config.Window, config.MaxSubjects),
	}, nil
}

// Limit is how many requests a subject may make in any [Limiter.Window].
func (l *Limiter) Limit() int { return l.config.Limit }

// Window is the time that [Limiter.Limit] refers to.
func (l *Limiter) Window() time.Duration { return l.config.Window }

// Take spends one request of the subject that key identifies, if it may.
//
// The limiter keeps key as long as it remembers the subject. Pass a pseudonym of
// bounded length, not what a client sent.
func (l *Limiter) Take(key string) Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	own, allowed := l.take(key, l.config.Limit, now)
	if !allowed {
		return l.counter.denied(own, 1, l.config.Limit, now)
	}
	return l.counter.admitted(own, l.config.Limit, now)
}

// Allow spends one request of the subject that key identifies, if fewer than
// limit, which is 1 to [MaxLimit], are remembered of it. It returns whether it
// did, and what is left of limit. The error is a [FieldError], and with it
// nothing was spent.
//
// Allow and [Limiter.Take] spend from the same window, so calls with different
// limits count each other's admissions.
func (l *Limiter) Allow(key string, limit int) (allowed bool, remaining int, err error) {
	var faults Faults
	if faults.addUnlessOneTo("limit", limit, MaxLimit); len(faults) > 0 {
		return false, 0, faults[0]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	own, allowed := l.take(key, limit, l.now())
	return allowed, own.remaining(limit), nil
}

// now is read under the lock, so that no window sees time run backwards.
func (l *Limiter) now() time.Duration { return time.Since(l.start) }

// take admits one request of key at now unless limit is reached. It returns the
// account that decided.
func (l *Limiter) take(key string, limit int, now time.Duration) (account, bool) {
	own := l.counter.find(key, now)
	if !own.allows(1, limit) {
		return own, false
	}
	l.counter.charge(&own, 1, now)
	return own, true
}
