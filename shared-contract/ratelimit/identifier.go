package ratelimit

import (
	"fmt"
	"regexp"
)

// identifier is the form of the IDs of policies and of the names of levels.
var identifier = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// CheckIdentifier returns an error that names the form, [a-z][a-z0-9-]{0,62}, unless
// text can be the ID of a policy or the name of a level.
func CheckIdentifier(text string) error {
	if !identifier.MatchString(text) {
		return fmt.Errorf("must match %s", identifier)
	}
	return nil
}

func (f *Faults) addUnlessIdentifier(field, text string) {
	if err := CheckIdentifier(text); err != nil {
		f.Add(field, "%v", err)
	}
}
