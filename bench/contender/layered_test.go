package contender

import (
	"testing"

	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// Ensure that a request has a level for each policy, that the last level's subject
// is the root, and that no two requests share a counter.
func TestNewLayeredRequest(t *testing.T) {
	secret, err := Secret()
	if err != nil {
		t.Fatal(err)
	}
	policies := []Policy{{ID: "user"}, {ID: "team"}, {ID: "tenant"}}
	seen := make(map[pseudonym.Digest]bool)
	for subject := range 10 {
		request, err := newLayeredRequest(policies, subjectName(subject), secret.SubjectKey())
		if err != nil {
			t.Fatal(err)
		}
		if request.Len() != len(policies) {
			t.Fatalf("request has %d levels, want %d", request.Len(), len(policies))
		}
		var last ratelimit.Level
		for i, level := range request.Levels() {
			if level.PolicyID != policies[i].ID || level.Cost != 1 || level.Shared {
				t.Errorf("level %d is %+v", i, level)
			}
			if seen[level.Subject] {
				t.Errorf("level %d of subject %d is counted elsewhere too", i, subject)
			}
			seen[level.Subject] = true
			last = level
		}
		if request.Root() != last.Subject {
			t.Error("the last level is not the root's")
		}
	}
}
