package usecase_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/weir/examples/usecase"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// A tenant with a quota of 10 units an hour calculates twice, and then has
// nothing left, not even for a preview.
func Example() {
	noon := time.Date(2026, 5, 23, 12, 0, 0, 0, time.UTC)
	limits := ratelimittest.NewMemory(newCatalog(), func() time.Time { return noon })
	database := new(countingDatabase)
	quoting := usecase.NewQuoting(limits, policyID, subjectKey(), database)

	for _, operation := range []usecase.Operation{usecase.Calculate, usecase.Calculate, usecase.Preview} {
		err := quoting.Order(context.Background(), usecase.Order{Tenant: "tenant-7", Operation: operation})
		if refused, ok := errors.AsType[*usecase.RefusedError](err); ok {
			fmt.Println(operation, "is", refused, "for", refused.RetryAfter)
			continue
		}
		fmt.Println(operation, "is carried out")
	}
	fmt.Println(database.opened, "transactions")
	// Output:
	// calculate is carried out
	// calculate is carried out
	// preview is refused: over quota for 1h0m0s
	// 2 transactions
}

// Ensure that only what is admitted opens a transaction, and that each outcome
// tells the caller what to do next.
func TestOutcomes(t *testing.T) {
	policy, _ := newCatalog().Current().Policy(policyID)
	tests := []struct {
		name string
		port ratelimittest.Answers
		want *usecase.RefusedError // nil: carried out
	}{
		{"allowed", ratelimittest.AlwaysAllows(policy), nil},
		{"denied", ratelimittest.AlwaysDenies(policy, 7*time.Second),
			&usecase.RefusedError{Reason: usecase.OverQuota, RetryAfter: 7 * time.Second}},
		{"unavailable", ratelimittest.AlwaysUnavailable(failure.Connection, time.Second),
			&usecase.RefusedError{Reason: usecase.NotCharged, RetryAfter: time.Second, Category: failure.Connection}},
		{"indeterminate", ratelimittest.AlwaysIndeterminate(failure.NoReply, time.Second),
			&usecase.RefusedError{Reason: usecase.PerhapsCharged, RetryAfter: time.Second, Category: failure.NoReply}},
		{"incompatible", ratelimittest.AlwaysIncompatible(failure.UnknownPolicy),
			&usecase.RefusedError{Reason: usecase.OutOfOrder, Category: failure.UnknownPolicy}},
		{"nil", func(ratelimit.Request) ratelimit.Outcome { return nil },
			&usecase.RefusedError{Reason: usecase.OutOfOrder, Category: failure.Protocol}},
		{"a pointer", func(ratelimit.Request) ratelimit.Outcome {
			return &ratelimit.Evaluated{Decision: ratelimit.Decision{Allowed: true}}
		}, &usecase.RefusedError{Reason: usecase.OutOfOrder, Category: failure.Protocol}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			database := new(countingDatabase)
			quoting := usecase.NewQuoting(test.port, policyID, subjectKey(), database)
			err := quoting.Order(t.Context(), usecase.Order{Tenant: "tenant-7", Operation: usecase.Calculate})
			if test.want == nil {
				if err != nil || database.opened != 1 {
					t.Errorf("error %v after %d transactions, want none after one", err, database.opened)
				}
				return
			}
			refused, ok := errors.AsType[*usecase.RefusedError](err)
			if !ok || *refused != *test.want {
				t.Errorf("error %#v, want %#v", err, test.want)
			}
			if database.opened != 0 {
				t.Errorf("%d transactions were opened", database.opened)
			}
		})
	}
}

// Ensure that the limiter is asked before the database is touched, and not within
// a transaction.
func TestLimiterComesFirst(t *testing.T) {
	policy, _ := newCatalog().Current().Policy(policyID)
	database := new(countingDatabase)
	asked := 0
	port := ratelimittest.Answers(func(request ratelimit.Request) ratelimit.Outcome {
		asked++
		if database.opened != 0 {
			t.Error("a transaction is open while the limiter is asked")
		}
		return ratelimittest.AlwaysAllows(policy)(request)
	})
	quoting := usecase.NewQuoting(port, policyID, subjectKey(), database)
	if err := quoting.Order(t.Context(), usecase.Order{Tenant: "tenant-7", Operation: usecase.Preview}); err != nil {
		t.Fatal(err)
	}
	if asked != 1 || database.opened != 1 {
		t.Errorf("asked %d times, %d transactions; want one each", asked, database.opened)
	}
}

// Ensure that each operation has its cost, and that an order that is not valid is
// neither counted nor brought to the database.
func TestCosts(t *testing.T) {
	tests := []struct {
		name  string
		order usecase.Order
		cost  int64 // zero: not valid
	}{
		{"preview", usecase.Order{Tenant: "t", Operation: usecase.Preview}, 1},
		{"calculate", usecase.Order{Tenant: "t", Operation: usecase.Calculate}, 5},
		{"renew one", usecase.Order{Tenant: "t", Operation: usecase.Renew, Quotes: make([]string, 1)}, 5},
		{"renew ten", usecase.Order{Tenant: "t", Operation: usecase.Renew, Quotes: make([]string, 10)}, 50},
		{"renew none", usecase.Order{Tenant: "t", Operation: usecase.Renew}, 0},
		{"renew eleven", usecase.Order{Tenant: "t", Operation: usecase.Renew, Quotes: make([]string, 11)}, 0},
		{"preview of quotes", usecase.Order{Tenant: "t", Operation: usecase.Preview, Quotes: make([]string, 1)}, 0},
		{"no operation", usecase.Order{Tenant: "t"}, 0},
		{"no tenant", usecase.Order{Operation: usecase.Preview}, 0},
	}
	policy, _ := newCatalog().Current().Policy(policyID)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			port := &ratelimittest.Recorder{Next: ratelimittest.AlwaysAllows(policy)}
			database := new(countingDatabase)
			err := usecase.NewQuoting(port, policyID, subjectKey(), database).Order(t.Context(), test.order)
			requests := port.Requests()
			if test.cost == 0 {
				if err == nil || len(requests) != 0 || database.opened != 0 {
					t.Errorf("error %v, asked %v, %d transactions", err, requests, database.opened)
				}
				return
			}
			if err != nil || len(requests) != 1 || requests[0].Cost() != test.cost || database.opened != 1 {
				t.Errorf("error %v, asked %v, %d transactions; want a cost of %d", err, requests, database.opened, test.cost)
			}
		})
	}
}

// Ensure that a failure of the database reaches the caller as it is and gives no
// quota back.
func TestFailureOfTheDatabaseCounts(t *testing.T) {
	noon := time.Date(2026, 5, 23, 12, 0, 0, 0, time.UTC)
	limits := ratelimittest.NewMemory(newCatalog(), func() time.Time { return noon })
	broken := errors.New("the database is gone")
	quoting := usecase.NewQuoting(limits, policyID, subjectKey(), &countingDatabase{failure: broken})
	order := usecase.Order{Tenant: "tenant-7", Operation: usecase.Calculate}
	for range 2 {
		if err := quoting.Order(t.Context(), order); !errors.Is(err, broken) {
			t.Fatalf("error %v, want %v", err, broken)
		}
	}
	refused, ok := errors.AsType[*usecase.RefusedError](quoting.Order(t.Context(), order))
	if !ok || refused.Reason != usecase.OverQuota {
		t.Errorf("the third order was not refused as over quota: %v", refused)
	}
}

const policyID = "quotes"

func newCatalog() *ratelimit.Catalog {
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID:            policyID,
		Revision:      1,
		Parameters:    ratelimit.FixedWindow{Limit: 10, Window: time.Hour},
		MaxCost:       10,
		FailurePolicy: ratelimit.FailClosed,
	})
	if err != nil {
		panic(err)
	}
	snapshot, err := ratelimit.NewSnapshot(policy)
	if err != nil {
		panic(err)
	}
	return ratelimit.NewCatalog(snapshot)
}

func subjectKey() *pseudonym.Key {
	secret, err := pseudonym.NewSecret(bytes.Repeat([]byte("not a secret "), 3))
	if err != nil {
		panic(err)
	}
	return secret.SubjectKey()
}

// countingDatabase counts the transactions that were opened, and fails all of
// them if it has a failure.
type countingDatabase struct {
	opened  int
	failure error
}

func (d *countingDatabase) InTransaction(_ context.Context, work func(usecase.Transaction) error) error {
	d.opened++
	if d.failure != nil {
		return d.failure
	}
	return work(transaction{})
}

type transaction struct{}

func (transaction) Carry(context.Context, usecase.Order) error { return nil }
