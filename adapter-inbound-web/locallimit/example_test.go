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

func ExampleFaults() {
	_, err := locallimit.New(locallimit.Config{Limit: 0, Window: time.Minute, MaxSubjects: 65536})
	fmt.Println(err)
	// Output: limit: is 0, must be 1 to 1000000000
}
