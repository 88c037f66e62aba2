// Package claim says what a run must show, and whether it does.
package claim

import (
	"fmt"
	"math"

	"example.com/weir/bench/table"
)

// Claim is one thing that a run must show.
type Claim struct {
	// Title says what is compared with what.
	Title string
	// Bound is what the median over the rounds must keep.
	Bound Bound

	// rounds is the figure in each round.
	rounds func(table.Run) ([]float64, error)
}

// Bound is a least or a greatest value.
type Bound struct {
	// Sense is atLeast or atMost.
	Sense Sense
	Value float64
	// Unit is empty for a ratio.
	Unit string
}

// Sense is the side on which a bound stands.
type Sense string

// All senses.
const (
	AtLeast Sense = "≥"
	AtMost  Sense = "≤"
)

// Verdict is a claim with what a run has shown.
type Verdict struct {
	Claim

	// Shown is the median over the rounds.
	Shown float64
	// Kept tells whether Shown is within the bound.
	Kept bool
}

// MinRounds is how many rounds a median takes that is worth something.
const MinRounds = 7

// Judge holds run against every claim. A run that lacks a measurement is an
// error.
func Judge(run table.Run) ([]Verdict, error) {
	claims := all()
	verdicts := make([]Verdict, len(claims))
	for i, claim := range claims {
		figures, err := claim.rounds(run)
		if err == nil && len(figures) < MinRounds {
			err = fmt.Errorf("%d rounds, need %d", len(figures), MinRounds)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", claim.Title, err)
		}
		shown := table.Median(figures)
		verdicts[i] = Verdict{Claim: claim, Shown: shown, Kept: claim.Bound.keeps(shown)}
	}
	return verdicts, nil
}

func (b Bound) keeps(value float64) bool {
	if math.IsNaN(value) {
		return false
	}
	if b.Sense == AtLeast {
		return value >= b.Value
	}
	return value <= b.Value
}

// String is the bound as a reader writes it.
func (b Bound) String() string {
	if b.Unit == "" {
		return fmt.Sprintf("%s %.2f ×", b.Sense, b.Value)
	}
	return fmt.Sprintf("%s %g %s", b.Sense, b.Value, b.Unit)
}

// Text is what was shown, in the bound's unit.
func (v Verdict) Text() string {
	if v.Bound.Unit == "" {
		return fmt.Sprintf("%.2f ×", v.Shown)
	}
	return fmt.Sprintf("%g %s", table.Rounded(v.Shown), v.Bound.Unit)
}
