package edge

// charge is what a route makes of a request.
type charge struct {
	kind     chargeKind
	policyID string // of a chargeable request
	cost     int64  // of a chargeable request, 1 or more
	explicit bool   // a route says so, and not the default
}

// chargeKind orders the kinds of charge from the cheapest.
type chargeKind int

const (
	exempt chargeKind = iota + 1
	chargeable
	reject
)

// dearer returns the charge that costs the client more. When one request can be
// read in several ways, the dearest reading counts, so no spelling of a path is
// cheaper than another. At equal cost a route's word is preferred to the
// default, and otherwise c.
func (c charge) dearer(other charge) charge {
	switch {
	case other.kind != c.kind:
		if other.kind > c.kind {
			return other
		}
	case other.cost != c.cost:
		if other.cost > c.cost {
			return other
		}
	case other.explicit && !c.explicit:
		return other
	}
	return c
}
