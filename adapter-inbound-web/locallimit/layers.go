package locallimit

import "time"

// Layers limits at several levels at once, in this process: a request is charged
// at all of its levels or at none. It is safe for concurrent use.
type Layers struct{}

// NewLayers returns a limiter that keeps at most maxSubjects windows for each
// counter, or a [FieldError].
func NewLayers(maxSubjects int) (*Layers, error) { return &Layers{}, nil }

// Charge is what a request spends at one level.
type Charge struct {
	// Counter names what is counted, such as a policy and its revision. All
	// charges of one counter must have the same Window.
	Counter string
	// Key is the subject.
	Key string
	// Limit is 1 to [MaxLimit], and may differ from call to call.
	Limit int
	// Window is [MinWindow] to [MaxWindow], in whole milliseconds.
	Window time.Duration
	// Cost is 1 to Limit.
	Cost int
}

// Take charges all of charges or, if one of them would exceed its limit, none. It
// returns what each says by itself, in their order, or a [FieldError].
func (l *Layers) Take(charges []Charge) ([]Result, error) { return nil, nil }
