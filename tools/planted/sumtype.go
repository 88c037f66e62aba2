package planted

//sumtype:decl
type sealed interface{ isSealed() }

type first struct{}

func (first) isSealed() {}

type second struct{}

func (second) isSealed() {}

// Forgets does not think of second.
func Forgets(value sealed) string {
	switch value.(type) { // want: go-check-sumtype
	case first:
		return "first"
	default:
		return ""
	}
}

// Sealed gives one of each.
func Sealed() []sealed { return []sealed{first{}, second{}} }
