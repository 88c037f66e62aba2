package edge_test

import (
	"net/http"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/edge"
	"example.com/weir/adapter-inbound-web/locallimit"
	"example.com/weir/shared-contract/pseudonym"
)

// Ensure that two edges over one local limiter share its quotas if they have one
// key, and only then.
func TestEdgesOverOneLocalLimiter(t *testing.T) {
	newEphemeralKey := func() *pseudonym.Key {
		key, err := edge.EphemeralKey()
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	key := newEphemeralKey()
	for name, test := range map[string]struct {
		one, other *pseudonym.Key
		status     int
	}{
		"one key":  {key, key, http.StatusTooManyRequests},
		"two keys": {key, newEphemeralKey(), http.StatusOK},
		"no keys":  {nil, nil, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			local, err := locallimit.New(locallimit.Config{Limit: 1, Window: time.Minute, MaxSubjects: 10})
			if err != nil {
				t.Fatal(err)
			}
			if w := serve(newEdge(t, edge.Config{Local: local, Pseudonym: test.one})(done), get("/")); w.Code != http.StatusOK {
				t.Fatalf("the first edge answers %d", w.Code)
			}
			if w := serve(newEdge(t, edge.Config{Local: local, Pseudonym: test.other})(done), get("/")); w.Code != test.status {
				t.Errorf("the second edge answers %d, want %d", w.Code, test.status)
			}
		})
	}
}
