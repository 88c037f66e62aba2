package locallimit

import (
	"sync"
	"time"
)

// Limiter decides for each subject by what it has spent. [New] makes one.
type Limiter struct {
	config Config
	width  time.Duration // of a slot, rounded up
	start  time.Time     // carries the monotonic clock

	mu       sync.Mutex
	subjects *table
	overflow window // of all subjects that found no room
}

// New returns a limiter, or the [Faults] of config.
func New(config Config) (*Limiter, error) {
	if faults := config.faults(); len(faults) > 0 {
		return nil, faults
	}
	return &Limiter{
		config:   config,
		width:    (config.Window + Slots - 1) / Slots,
		start:    time.Now(),
		subjects: newTable(config.MaxSubjects),
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
	result := Result{
		Allowed:   allowed,
		Limit:     l.config.Limit,
		Remaining: max(0, l.config.Limit-own.spent()),
		Reset:     own.last() + l.config.Window - now,
	}
	if !allowed {
		result.RetryAfter = own.lastBeyond(l.config.Limit-1) + l.config.Window - now
	}
	return result
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
	if faults.addUnlessBetween("limit", limit, 1, MaxLimit); len(faults) > 0 {
		return false, 0, faults[0]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	own, allowed := l.take(key, limit, l.now())
	return allowed, max(0, limit-own.spent()), nil
}

// now is read under the lock, so that no window sees time run backwards.
func (l *Limiter) now() time.Duration { return time.Since(l.start) }

// take admits one request of key at now unless limit is reached. It returns the
// window that decided; after either answer that holds an admission.
func (l *Limiter) take(key string, limit int, now time.Duration) (*window, bool) {
	horizon := now - l.config.Window
	known := l.subjects.find(key)
	own := &l.overflow // some of what it admitted may have been this subject's
	if known != nil {
		own = &known.window
	}
	own.discard(horizon)
	if own.spent() >= limit {
		return own, false
	}
	if known != nil {
		l.subjects.touch(known)
	} else if l.subjects.reclaim(horizon); !l.subjects.full() {
		own = &l.subjects.add(key, own.clone()).window
	}
	own.admit(now, l.width)
	return own, true
}
