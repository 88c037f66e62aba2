// Package openapitest holds live responses against the OpenAPI document of the
// API, so that a test which meets what the document does not say fails.
package openapitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"example.com/weir/adapter-inbound-web/management"
)

// Document is the description of an API whose paths have no parameters. It is
// safe for concurrent use.
type Document struct {
	description *openapi3.T
}

// Load reads the document that the management listener serves.
var Load = sync.OnceValues(func() (*Document, error) {
	handler, err := management.New(management.Config{})
	if err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi.yaml", nil))
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("/openapi.yaml is answered %d", w.Code)
	}
	return Parse(w.Body.Bytes())
})

// Parse reads a document, which must be a valid one of OpenAPI 3.1.
func Parse(text []byte) (*Document, error) {
	description, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	if !description.IsOpenAPI31OrLater() {
		return nil, fmt.Errorf("version is %s, must be 3.1", description.OpenAPI)
	}
	if err := description.Validate(context.Background()); err != nil {
		return nil, err
	}
	return &Document{description}, nil
}

// exchange is a request and its answer.
type exchange struct {
	request  *http.Request
	content  []byte // of the request
	response *http.Response
	body     []byte // of the response
}

// Check returns an error unless d says that r, which had the given content, may
// be answered with response. A request that is answered as a success must itself
// be one that d allows. OpenAPI has no place for the answers to what it does not
// describe: an undescribed path may only be unknown (404) or guarded (401), and
// an undescribed method not allowed (405) or guarded. They are held against the
// same answers of what is described. The content of an answer to HEAD, if there is
// any yet, must be that of GET.
func (d *Document) Check(r *http.Request, content []byte, response *http.Response) error {
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	e := exchange{r, content, response, body}
	path, method := r.URL.Path, r.Method
	item := d.description.Paths.Value(path)
	switch {
	case item == nil:
		if !slices.Contains([]int{http.StatusNotFound, http.StatusUnauthorized}, response.StatusCode) {
			return fmt.Errorf("the path %s is not described, and is answered %d", path, response.StatusCode)
		}
		path, method = "/v1/evaluations", http.MethodPost
	case item.GetOperation(method) == nil:
		if err := checkUndescribed(e, item); err != nil {
			return err
		}
		method = slices.Min(slices.Collect(maps.Keys(item.Operations()))) // GET rather than HEAD
	case method == http.MethodHead:
		if err := d.check(e, path, method); err != nil {
			return undescribed(e, err)
		}
		if len(body) == 0 {
			return nil
		}
		method = http.MethodGet // net/http leaves the content out, not the handler
	}
	if err := d.check(e, path, method); err != nil {
		return undescribed(e, err)
	}
	if e.isDenial() {
		if err := checkDenial(e); err != nil {
			return undescribed(e, err)
		}
	}
	return nil
}

func undescribed(e exchange, err error) error {
	return fmt.Errorf("%s %s, answered %d, is not described: %w", e.request.Method, e.request.URL.Path, e.response.StatusCode, err)
}

func (e exchange) isDenial() bool {
	var problem struct{ Type string }
	return json.Unmarshal(e.body, &problem) == nil && strings.HasSuffix(problem.Type, "#quota-exceeded")
}

// checkDenial holds a denial against what the document says in words only: with
// any status it says when to come back, and what the quota is in one whole family
// of rate-limit header fields at least.
func checkDenial(e exchange) error {
	has := func(fields ...string) bool {
		return !slices.ContainsFunc(fields, func(field string) bool { return e.response.Header.Get(field) == "" })
	}
	if !has("Retry-After") {
		return errors.New("a denial has no Retry-After")
	}
	if !has("RateLimit", "RateLimit-Policy") && !has("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset") {
		return errors.New("a denial has no whole family of RateLimit fields")
	}
	return nil
}

func checkUndescribed(e exchange, item *openapi3.PathItem) error {
	switch e.response.StatusCode {
	case http.StatusUnauthorized:
		return nil
	case http.StatusMethodNotAllowed:
		allowed := strings.Split(e.response.Header.Get("Allow"), ", ")
		described := slices.Sorted(maps.Keys(item.Operations()))
		if slices.Sort(allowed); !slices.Equal(allowed, described) {
			return fmt.Errorf("%s allows %q, and %q are described", e.request.URL.Path, allowed, described)
		}
		return nil
	default:
		return fmt.Errorf("the method %s of %s is not described, and is answered %d", e.request.Method, e.request.URL.Path, e.response.StatusCode)
	}
}

// check holds e against one operation.
func (d *Document) check(e exchange, path, method string) error {
	item := d.description.Paths.Value(path)
	ctx, options := e.request.Context(), &openapi3filter.Options{
		IncludeResponseStatus: true,
		MultiError:            true,
		AuthenticationFunc:    openapi3filter.NoopAuthenticationFunc, // the handler looks at the token
	}
	asked := e.request.Clone(ctx)
	asked.Body = io.NopCloser(bytes.NewReader(e.content))
	asked.Method = http.MethodGet // the validator looks at no answer to HEAD; the operation says what is asked
	request := &openapi3filter.RequestValidationInput{
		Request: asked,
		Route:   &routers.Route{Spec: d.description, Path: path, PathItem: item, Method: method, Operation: item.GetOperation(method)},
		Options: options,
	}
	if err := openapi3filter.ValidateResponse(ctx, &openapi3filter.ResponseValidationInput{
		RequestValidationInput: request,
		Status:                 e.response.StatusCode,
		Header:                 e.response.Header,
		Body:                   io.NopCloser(bytes.NewReader(e.body)),
		Options:                options,
	}); err != nil {
		return err
	}
	if e.response.StatusCode >= http.StatusMultipleChoices {
		return nil
	}
	return openapi3filter.ValidateRequest(ctx, request)
}

// Wrap returns handler with each of its responses checked. What is not described
// is an error of t.
func Wrap(t *testing.T, handler http.Handler) http.Handler {
	t.Helper()
	document, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Helper()
		asked := r.Clone(context.WithoutCancel(r.Context()))
		var content bytes.Buffer
		r.Body = io.NopCloser(io.TeeReader(r.Body, &content))
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, r)
		if err := document.Check(asked, content.Bytes(), recorder.Result()); err != nil {
			t.Error(err)
		}
		maps.Copy(w.Header(), recorder.Header())
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(recorder.Body.Bytes())
	})
}
