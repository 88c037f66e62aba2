package evaluation

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"unicode/utf8"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/shared-contract/pseudonym"
)

// maxDeadlineMillis is the most that a caller may ask to wait.
const maxDeadlineMillis = 60_000

// document is what a caller asks for: one evaluation, or layers. Members that the
// caller left out have the zero value.
type document struct {
	policyID        *string
	subject         pseudonym.Subject
	cost            int64 // at most math.MaxInt64, which stands for all above it
	deadlineMillis  int64
	hasEvaluationID bool

	layers []layer // none means one evaluation
	root   int     // the layer whose subject the others belong to
}

// documentReader reads a document.
type documentReader struct {
	reader
	result   document
	rootName *string
}

// readDocument reads a document, whose subjects are those of addressing, or lists
// all its faults.
func readDocument(text []byte, addressing pseudonym.Addressing) (document, []answer.DocumentError) {
	r := documentReader{reader: reader{addressing: addressing}}
	if !utf8.Valid(text) {
		r.fault("", "must be UTF-8")
	} else if err := r.document(text); err != nil {
		r.fault("", syntaxProblem(err))
	}
	if len(r.faults) > 0 {
		return document{}, r.faults
	}
	return r.result, nil
}

// document reads the only value of text.
func (r *documentReader) document(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	seen, err := r.members(decoder, "", r.member)
	if err != nil || seen == nil {
		return err
	}
	if seen["layers"] {
		r.asLayers(seen)
	} else {
		r.asOne(seen)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		r.fault("", "must be one JSON object with nothing after it")
	}
	return nil
}

func (r *documentReader) member(name, pointer string, value json.RawMessage) {
	switch name {
	case "policyId":
		r.result.policyID = r.name(pointer, value)
	case "subject":
		r.result.subject = r.subject(pointer, value)
	case "cost":
		r.result.cost = r.wholeNumber(pointer, value, math.MaxInt64)
	case "deadlineMillis":
		r.result.deadlineMillis = r.wholeNumber(pointer, value, maxDeadlineMillis)
	case "evaluationId":
		_, r.result.hasEvaluationID = r.text(pointer, value)
	case "layers":
		r.result.layers = r.layers(pointer, value)
	case "root":
		r.rootName = r.name(pointer, value)
	default:
		r.fault(pointer, "is unknown")
	}
}

// name is nil if there is a fault.
func (r *documentReader) name(pointer string, value json.RawMessage) *string {
	if text, ok := r.text(pointer, value); ok {
		return &text
	}
	return nil
}

// asOne checks which members a document without layers has.
func (r *documentReader) asOne(seen map[string]bool) {
	if !seen["subject"] {
		r.fault("/subject", "must be given, unless there are layers")
	}
	if seen["root"] {
		r.fault("/root", "must not be given without layers")
	}
}

// asLayers checks which members a document with layers has, and how its layers go
// together.
func (r *documentReader) asLayers(seen map[string]bool) {
	for _, name := range []string{"policyId", "subject", "cost"} {
		if seen[name] {
			r.fault("/"+name, "must not be given beside layers")
		}
	}
	if len(r.result.layers) > 0 { // others have faults of their own
		r.checkTogether(r.result.layers)
	}
}
