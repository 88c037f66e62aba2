package ratelimit

import (
	"fmt"
	"strings"
)

// FieldError is one fault of a specification: which field, and what is wrong
// with it, with the bound that it breaks.
type FieldError struct {
	Field   string
	Problem string
}

// Error joins field and problem.
func (e FieldError) Error() string { return e.Field + ": " + e.Problem }

// Faults are all the faults of one specification, in the order of its fields.
// An empty Faults is not an error and is never returned as one.
type Faults []FieldError

// Error joins the faults on one line.
func (f Faults) Error() string {
	texts := make([]string, len(f))
	for i, fault := range f {
		texts[i] = fault.Error()
	}
	return strings.Join(texts, "; ")
}

func (f *Faults) add(field, problem string) {
	*f = append(*f, FieldError{Field: field, Problem: problem})
}

func (f *Faults) addf(field, format string, args ...any) {
	f.add(field, fmt.Sprintf(format, args...))
}

func (f *Faults) addUnlessBetween(field string, value, least, most int64) {
	if value < least || value > most {
		f.addf(field, "is %d, must be %d to %d", value, least, most)
	}
}
