package evaluation_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"example.com/weir/adapter-inbound-web/evaluation"
	"example.com/weir/shared-contract/failure"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
	"example.com/weir/shared-contract/ratelimittest"
)

// Ensure that no document is decided unless encoding/json takes it too, with
// members that mean the same, and that none makes the handler panic.
func FuzzEvaluation(f *testing.F) {
	for _, document := range []string{
		`{"subject":"a"}`, `{"subject":"a","cost":10,"policyId":"login","deadlineMillis":5}`, `{"subject":"\ud83d\ude00"}`,
		`{"cost":1e0}`, `{"subject":"a"}x`, `{"subject":"a","subject":"a"}`, `[[[`, `{"subject":"\\ud800"}`,
		`{"layers":[{"name":"user","policyId":"login","subject":"a"},{"name":"tenant","policyId":"quotes","subject":"b","cost":2,"limit":5,"shared":true}],"root":"tenant"}`,
		`{"layers":[{"name":"a","policyId":"login","subject":"a"},{"name":"a","policyId":"login","subject":"a"}]}`,
		`{"layers":[]}`, `{"layers":[{}]}`, `{"layers":[{"name":"a","policyId":"login","subject":"a","limit":0}],"cost":1}`,
	} {
		f.Add([]byte(document))
	}
	catalog := newCatalog(f)
	memory := ratelimittest.NewMemory(catalog, func() time.Time { return noon })
	var one []ratelimit.Request
	var layered []ratelimit.LayeredRequest
	handler := newBareHandler(f, evaluation.Config{
		Port: portFunc(func(ctx context.Context, request ratelimit.Request) ratelimit.Outcome {
			one = append(one, request)
			return memory.Evaluate(ctx, request)
		}),
		LayeredPort: layeredPortFunc(func(ctx context.Context, request ratelimit.LayeredRequest) ratelimit.LayeredOutcome {
			layered = append(layered, request)
			return memory.EvaluateLayers(ctx, request)
		}),
		Catalog:       catalog,
		Pseudonym:     newKey(f),
		DefaultPolicy: "edge-default",
	})
	f.Fuzz(func(t *testing.T, document []byte) {
		one, layered = one[:0], layered[:0]
		w := serve(handler, newPost(string(document)))
		switch {
		case len(one)+len(layered) > 1:
			t.Fatalf("%q was charged %d times", document, len(one)+len(layered))
		case len(one)+len(layered) == 0:
			if w.Code != 400 && w.Code != 404 && w.Code != 413 && w.Code != 422 {
				t.Errorf("%q: got %d", document, w.Code)
			}
			return
		}
		if w.Code != 200 && !strings.Contains(w.Body.String(), string(failure.DeadlineTooShort)) {
			t.Errorf("%q was not decided: got %d %s", document, w.Code, w.Body)
		}
		var want askedFor
		if err := json.Unmarshal(document, &want); err != nil {
			t.Fatalf("%q was decided: %v", document, err)
		}
		if len(one) == 1 {
			want.checkOne(t, one[0])
		} else {
			want.checkLayers(t, layered[0])
		}
	})
}

// askedFor is what a document means to encoding/json.
type askedFor struct {
	askedOfOne
	Layers []askedOfOne `json:"layers"`
	Root   string       `json:"root"`
}

type askedOfOne struct {
	Name     string `json:"name"`
	PolicyID string `json:"policyId"`
	Subject  string `json:"subject"`
	Cost     *int64 `json:"cost"`
	Limit    int64  `json:"limit"`
	Shared   bool   `json:"shared"`
}

func (a askedOfOne) cost() int64 {
	if a.Cost == nil {
		return 1
	}
	return *a.Cost
}

func (a askedOfOne) digest(t *testing.T) pseudonym.Digest {
	t.Helper()
	who, err := pseudonym.ParseSubject(a.Subject)
	if err != nil {
		t.Fatal(err)
	}
	return who.Digest(newKey(t))
}

func (a askedFor) checkOne(t *testing.T, got ratelimit.Request) {
	t.Helper()
	policyID := a.PolicyID
	if policyID == "" {
		policyID = "edge-default"
	}
	if len(a.Layers) > 0 || got.PolicyID() != policyID || got.Cost() != a.cost() || got.Subject() != a.digest(t) {
		t.Errorf("%+v was read as %v", a, got)
	}
}

func (a askedFor) checkLayers(t *testing.T, got ratelimit.LayeredRequest) {
	t.Helper()
	if got.Len() != len(a.Layers) {
		t.Fatalf("%+v was read as %v", a, got)
	}
	for i, level := range got.Levels() {
		asked := a.Layers[i]
		want := ratelimit.Level{
			Name: asked.Name, PolicyID: asked.PolicyID, Subject: asked.digest(t), Cost: asked.cost(), Limit: asked.Limit, Shared: asked.Shared,
		}
		if level != want {
			t.Errorf("%+v was read as %+v", want, level)
		}
		if a.Root == level.Name && got.Root() != level.Subject {
			t.Errorf("the root is %x, want that of %s", got.Root(), a.Root)
		}
	}
}
