package edge

// charge is what a route makes of a request. The zero charge is that of no
// route.
type charge struct {
	number   int // its place in a [ranking]; 0 only for the zero charge
	kind     chargeKind
	policyID string // of a chargeable request
	cost     int64  // of a chargeable request, 1 or more
	explicit bool   // a route says so, and not the default
	// layered: [Layers] stand in for the policy where they can.
	layered bool
	// closed: another reading of the request comes under a policy by itself, so no
	// failure mode lets it pass.
	closed bool
}

// chargeKind orders the kinds of charge from the cheapest.
type chargeKind int

const (
	exempt chargeKind = iota + 1
	chargeable
	reject
)
