package locallimit

import (
	"fmt"
	"strings"
	"time"
)

// Bounds of a [Config].
const (
	MaxLimit    = 1_000_000_000
	MinWindow   = time.Millisecond
	MaxWindow   = 31 * 24 * time.Hour
	MaxSubjects = 10_000_000
)

// Config says how much each subject may spend. There is no value for
// "unlimited": who wants no limit mounts no limiter.
type Config struct {
	// Limit is how many requests a subject may make in any Window: 1 to
	// [MaxLimit].
	Limit int
	// Window is [MinWindow] to [MaxWindow], in whole milliseconds.
	Window time.Duration
	// MaxSubjects is how many subjects have a window of their own at the same
	// time: 1 to the constant of that name. Each takes between about 0.2 and
	// 1.2 KiB, by how often it spends.
	MaxSubjects int
}

// FieldError is one fault of a [Config] or of an argument: which field, by its
// name in configuration files, and what is wrong with it.
//
// It and [Faults] resemble those of the contract and are apart from them on
// purpose: this package imports nothing but the standard library, so that it
// can be removed, when its time is over, without a trace in what remains.
type FieldError struct {
	Field   string
	Problem string
}

// Error joins field and problem.
func (e FieldError) Error() string { return e.Field + ": " + e.Problem }

// Faults are all the faults of one [Config], in the order of its fields.
type Faults []FieldError

// Error joins the faults on one line.
func (f Faults) Error() string {
	texts := make([]string, len(f))
	for i, fault := range f {
		texts[i] = fault.Error()
	}
	return strings.Join(texts, "; ")
}

func (f *Faults) addUnlessOneTo(field string, value, most int) {
	if value < 1 || value > most {
		f.addf(field, "is %d, must be 1 to %d", value, most)
	}
}

func (f *Faults) addUnlessWindow(window time.Duration) {
	switch {
	case window < MinWindow || window > MaxWindow:
		f.addf("window", "is %v, must be %v to %v", window, MinWindow, MaxWindow)
	case window%time.Millisecond != 0:
		f.addf("window", "is %v, must be a whole number of milliseconds", window)
	}
}

func (f *Faults) addf(field, format string, args ...any) {
	*f = append(*f, FieldError{Field: field, Problem: fmt.Sprintf(format, args...)})
}

func (c Config) faults() Faults {
	var faults Faults
	faults.addUnlessOneTo("limit", c.Limit, MaxLimit)
	faults.addUnlessWindow(c.Window)
	faults.addUnlessOneTo("max-subjects", c.MaxSubjects, MaxSubjects)
	return faults
}
