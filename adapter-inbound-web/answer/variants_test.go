package answer

import (
	"testing"
	"time"

	"example.com/weir/shared-contract/ratelimit"
)

// Ensure that texts are kept, and not more of them than there is room for.
func TestVariantTexts(t *testing.T) {
	policy, err := ratelimit.NewPolicy(ratelimit.PolicySpec{
		ID: "tenant", Revision: 1, Parameters: ratelimit.FixedWindow{Limit: 1, Window: time.Minute}, MaxCost: 1, FailurePolicy: ratelimit.FailClosed,
	})
	if err != nil {
		t.Fatal(err)
	}
	var variants variantTexts
	for quota := int64(1); quota <= 3*maxVariants; quota++ {
		own, err := policy.WithQuota(quota)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := variants.of(own); err != nil {
			t.Fatal(err)
		}
		if kept := variants.byPolicy[own]; kept.policy != own {
			t.Fatalf("the texts of quota %d are not kept", quota)
		}
		if n := len(variants.byPolicy); n > maxVariants {
			t.Fatalf("%d are kept, want %d at most", n, maxVariants)
		}
	}
}
