package config

import "log/slog"

const hidden = "[secret]"

// Sensitive is a text that never prints itself: fmt, log/slog and encoders see
// a placeholder. The empty Sensitive holds nothing.
type Sensitive struct {
	text string
}

// Reveal is the text itself, for the one place that needs it.
func (s Sensitive) Reveal() string { return s.text }

// IsZero reports whether s holds nothing.
func (s Sensitive) IsZero() bool { return s.text == "" }

// String hides the text from fmt.
func (s Sensitive) String() string { return hidden }

// GoString hides the text from fmt's %#v.
func (s Sensitive) GoString() string { return hidden }

// LogValue hides the text from log/slog.
func (s Sensitive) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText hides the text from encoders.
func (s Sensitive) MarshalText() ([]byte, error) { return []byte(hidden), nil }
