package locallimit_test

import (
	"fmt"
	"time"

	"example.com/weir/adapter-inbound-web/locallimit"
)

func ExampleLimiter_Take() {
	limiter, err := locallimit.New(locallimit.Config{Limit: 2, Window: time.Minute, MaxSubjects: 65536})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		result := limiter.Take("subject")
		fmt.Println(result.Allowed, result.Remaining, result.RetryAfter.Round(time.Minute))
	}
	// Output:
	// true 1 0s
	// true 0 0s
	// false 0 1m0s
}

func ExampleLimiter_Allow() {
	limiter, err := locallimit.New(locallimit.Config{Limit: 60, Window: time.Minute, MaxSubjects: 65536})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(limiter.Allow("subject", 1))
	fmt.Println(limiter.Allow("subject", 1))
	fmt.Println(limiter.Allow("subject", 0))
	// Output:
	// true 0 <nil>
	// false 0 <nil>
	// false 0 limit: is 0, must be 1 to 1000000000
}

// A tenant may spend 10 per minute, and each of its users 2.
func ExampleLayers_Take() {
	layers, err := locallimit.NewLayers(65536)
	if err != nil {
		fmt.Println(err)
		return
	}
	charges := []locallimit.Charge{
		{Counter: "user", Key: "acme/alice", Limit: 2, Window: time.Minute, Cost: 1},
		{Counter: "tenant", Key: "acme", Limit: 10, Window: time.Minute, Cost: 1},
	}
	for range 3 {
		results, err := layers.Take(charges)
		if err != nil {
			fmt.Println(err)
			return
		}
		user, tenant := results[0], results[1]
		fmt.Println(user.Allowed, user.Remaining, tenant.Allowed, tenant.Remaining)
	}
	// Output:
	// true 1 true 9
	// true 0 true 8
	// false 0 true 8
}

func ExampleFaults() {
	_, err := locallimit.New(locallimit.Config{Limit: 0, Window: time.Minute, MaxSubjects: 65536})
	fmt.Println(err)
	// Output: limit: is 0, must be 1 to 1000000000
}
