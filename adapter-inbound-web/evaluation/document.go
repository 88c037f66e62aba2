package evaluation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/shared-contract/pseudonym"
)

// maxErrors bounds how many faults of one document are listed.
const maxErrors = 32

// maxDeadlineMillis is the most that a caller may ask to wait.
const maxDeadlineMillis = 60_000

// document is what a caller asks for. Members that the caller left out have the
// zero value.
type document struct {
	policyID        *string
	subject         pseudonym.Subject
	cost            int64 // at most math.MaxInt64, which stands for all above it
	deadlineMillis  int64
	hasEvaluationID bool
}

// readDocument reads a document, whose subject is that of addressing, or lists
// all its faults. It is stricter than encoding/json, which takes members in any
// case and lets the last of two equal ones win: a caller that misspells "cost"
// must not be charged as if it had said nothing.
func readDocument(text []byte, addressing pseudonym.Addressing) (document, []answer.DocumentError) {
	r := reader{decoder: json.NewDecoder(bytes.NewReader(text)), addressing: addressing}
	if !utf8.Valid(text) {
		r.fault("", "must be UTF-8")
		return document{}, r.faults
	}
	if err := r.object(); err != nil {
		r.fault("", syntaxProblem(err))
	}
	if len(r.faults) > 0 {
		return document{}, r.faults
	}
	return r.result, nil
}

func syntaxProblem(err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("is not valid JSON at byte %d", syntax.Offset)
	}
	return "ends in the middle of its JSON"
}

type reader struct {
	decoder    *json.Decoder
	addressing pseudonym.Addressing
	result     document
	faults     []answer.DocumentError
}

func (r *reader) fault(pointer, detail string) {
	if len(r.faults) < maxErrors {
		r.faults = append(r.faults, answer.DocumentError{Pointer: pointer, Detail: detail})
	}
}

// object reads the document's only value. An error means that the rest cannot be
// read; all other faults are recorded.
func (r *reader) object() error {
	first, err := r.decoder.Token()
	if err != nil {
		return err
	}
	if first != json.Delim('{') {
		r.fault("", "must be a JSON object")
		return nil
	}
	seen := make(map[string]bool)
	for r.decoder.More() {
		name, err := r.decoder.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := r.decoder.Decode(&value); err != nil {
			return err
		}
		r.member(name.(string), value, seen)
	}
	if _, err := r.decoder.Token(); err != nil {
		return err
	}
	if !seen["subject"] {
		r.fault("/subject", "must be given")
	}
	if _, err := r.decoder.Token(); !errors.Is(err, io.EOF) {
		r.fault("", "must be one JSON object with nothing after it")
	}
	return nil
}

func (r *reader) member(name string, value json.RawMessage, seen map[string]bool) {
	pointer := "/" + pointerEscapes.Replace(name)
	if seen[name] {
		r.fault(pointer, "is given twice")
		return
	}
	seen[name] = true
	switch name {
	case "policyId":
		r.policyID(pointer, value)
	case "subject":
		r.subject(pointer, value)
	case "cost":
		r.result.cost = r.wholeNumber(pointer, value, math.MaxInt64)
	case "deadlineMillis":
		r.result.deadlineMillis = r.wholeNumber(pointer, value, maxDeadlineMillis)
	case "evaluationId":
		if _, ok := r.text(pointer, value); ok {
			r.result.hasEvaluationID = true
		}
	default:
		r.fault(pointer, "is unknown")
	}
}

// pointerEscapes are those of RFC 6901, section 3.
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func (r *reader) policyID(pointer string, value json.RawMessage) {
	if text, ok := r.text(pointer, value); ok {
		r.result.policyID = &text
	}
}

func (r *reader) subject(pointer string, value json.RawMessage) {
	text, ok := r.text(pointer, value)
	if !ok {
		return
	}
	subject, err := r.addressing.ParseSubject(text)
	if err != nil {
		r.fault(pointer, fmt.Sprintf("must have 1 to %d bytes", pseudonym.MaxSubjectBytes))
		return
	}
	r.result.subject = subject
}

func (r *reader) text(pointer string, value json.RawMessage) (string, bool) {
	if value[0] != '"' {
		r.fault(pointer, "must be a string")
		return "", false
	}
	if hasLoneSurrogate(value) {
		// It would be read as U+FFFD, and make one of several subjects.
		r.fault(pointer, "holds half of a surrogate pair")
		return "", false
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		r.fault(pointer, "must be a string")
		return "", false
	}
	return text, true
}

// wholeNumber reads digits only: a fraction or an exponent may look whole and
// hides a caller that calculates in floating point.
func (r *reader) wholeNumber(pointer string, value json.RawMessage, most int64) int64 {
	problem := "must be a whole number, written in digits, 1 or more"
	if most < math.MaxInt64 {
		problem = fmt.Sprintf("must be a whole number, written in digits, 1 to %d", most)
	}
	number, err := strconv.ParseInt(string(value), 10, 64)
	if errors.Is(err, strconv.ErrRange) && number > 0 {
		err = nil // ParseInt returns the largest integer
	}
	if err != nil || number < 1 || number > most {
		r.fault(pointer, problem)
		return 0
	}
	return number
}
