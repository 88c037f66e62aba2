package usecase

import "fmt"

// Operation is what an order asks for. They burden the database differently, and
// so have different costs.
type Operation string

const (
	// Preview reads one tariff.
	Preview Operation = "preview"
	// Calculate reads all tariffs and writes a quote.
	Calculate Operation = "calculate"
	// Renew does what Calculate does for each of the order's quotes.
	Renew Operation = "renew"
)

// maxQuotes bounds a Renew, so that its cost stays within the policy's maximum.
const maxQuotes = 10

// Order is what a tenant asks for.
type Order struct {
	// Tenant has been authenticated by the caller.
	Tenant    string
	Operation Operation
	// Quotes are the quotes to renew: 1 to 10 for [Renew], none otherwise.
	Quotes []string
}

// cost is what the order costs, in units of the policy's quota: about how many
// statements it takes. The error says what is wrong with the order.
func (o Order) cost() (int64, error) {
	quotes := len(o.Quotes)
	if o.Operation == Renew && (quotes < 1 || quotes > maxQuotes) {
		return 0, fmt.Errorf("an order to renew has %d quotes, must have 1 to %d", quotes, maxQuotes)
	}
	if o.Operation != Renew && quotes > 0 {
		return 0, fmt.Errorf("an order to %s names quotes, which only an order to renew does", o.Operation)
	}
	switch o.Operation {
	case Preview:
		return 1, nil
	case Calculate:
		return 5, nil
	case Renew:
		return 5 * int64(quotes), nil
	default:
		return 0, fmt.Errorf("there is no operation %q", string(o.Operation))
	}
}
