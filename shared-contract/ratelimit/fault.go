package ratelimit

import (
	"fmt"
	"strings"
	"time"
)

// FieldError is one fault of a specification: which field, and what is wrong
// with it, with the bound that it breaks.
type FieldError struct {
	Field   string
	Problem string
}

// Error joins field and problem.
func (e FieldError) Error() string { return e.Field + ": " + e.Problem }

// Faults are all the faults of one specification, in the order of its fields, so
// that whoever wrote it can mend them at once. The zero value is ready to use;
// [Faults.Err] makes an error of it.
type Faults []FieldError

// Error joins the faults on one line.
func (f Faults) Error() string {
	texts := make([]string, len(f))
	for i, fault := range f {
		texts[i] = fault.Error()
	}
	return strings.Join(texts, "; ")
}

// Err is f as an error, or nil when there are no faults.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Add notes what is wrong with field, formatted as by [fmt.Sprintf].
func (f *Faults) Add(field, format string, args ...any) {
	*f = append(*f, FieldError{Field: field, Problem: fmt.Sprintf(format, args...)})
}

// AddUnlessBetween notes a fault of field unless least <= value <= most.
func (f *Faults) AddUnlessBetween(field string, value, least, most int64) {
	if value < least || value > most {
		f.Add(field, "is %d, must be %d to %d", value, least, most)
	}
}

// AddUnlessDuration notes a fault of field unless least <= value <= most and
// value is a whole number of milliseconds.
func (f *Faults) AddUnlessDuration(field string, value, least, most time.Duration) {
	switch {
	case value < least || value > most:
		f.Add(field, "is %v, must be %v to %v", value, least, most)
	case value%time.Millisecond != 0:
		f.Add(field, "is %v, must be a whole number of milliseconds", value)
	}
}
