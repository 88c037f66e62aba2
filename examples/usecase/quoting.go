package usecase

import (
	"context"
	"time"

	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// patience bounds the wait for a decision. The database has a deadline of its
// own, the caller's.
const patience = 250 * time.Millisecond

// Database is what the use case needs of a store of quotes.
type Database interface {
	// InTransaction opens a transaction, runs work in it and commits, or rolls
	// back and returns the error if work returns one.
	InTransaction(ctx context.Context, work func(Transaction) error) error
}

// Transaction is a transaction that is open.
type Transaction interface {
	// Carry carries out one order.
	Carry(ctx context.Context, order Order) error
}

// Quoting is the use case: tenants order quotes. It is safe for concurrent use
// if its parts are.
type Quoting struct {
	limits   ratelimit.EdgePort
	policyID string
	key      *pseudonym.Key
	database Database
}

// NewQuoting asks limits under the policy, which must bear a cost of 50, and
// keeps quotes in database. The key is the one of [pseudonym.Secret.SubjectKey],
// under which all who know a tenant know it alike. Whoever made limits and
// database closes them.
func NewQuoting(limits ratelimit.EdgePort, policyID string, key *pseudonym.Key, database Database) *Quoting {
	return &Quoting{limits: limits, policyID: policyID, key: key, database: database}
}

// Order carries out an order. The error is a [*RefusedError] if the limiter did
// not let it pass; then no transaction was opened.
func (q *Quoting) Order(ctx context.Context, order Order) error {
	request, err := q.request(order)
	if err != nil {
		return err
	}
	if err := admitted(q.evaluate(ctx, request)); err != nil {
		return err
	}
	return q.database.InTransaction(ctx, func(tx Transaction) error {
		return tx.Carry(ctx, order)
	})
}

func (q *Quoting) request(order Order) (ratelimit.Request, error) {
	cost, err := order.cost()
	if err != nil {
		return ratelimit.Request{}, err
	}
	tenant, err := pseudonym.ParseSubject(order.Tenant)
	if err != nil {
		return ratelimit.Request{}, err
	}
	return ratelimit.NewRequest(ratelimit.RequestSpec{
		PolicyID: q.policyID,
		Subject:  tenant.Digest(q.key),
		Cost:     cost,
	})
}

// evaluate gives the port the deadline that it asks for.
func (q *Quoting) evaluate(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return q.limits.Evaluate(ctx, request)
}
