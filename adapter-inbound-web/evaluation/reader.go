package evaluation

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"example.com/weir/adapter-inbound-web/answer"
	"example.com/weir/shared-contract/pseudonym"
)

// maxErrors bounds how many faults of one document are listed.
const maxErrors = 32

// reader reads JSON values and collects their faults. It is stricter than
// encoding/json, which takes members in any case and lets the last of two equal
// ones win: a caller that misspells "cost" must not be charged as if it had said
// nothing.
type reader struct {
	addressing pseudonym.Addressing
	faults     []answer.DocumentError
}

func (r *reader) fault(pointer, detail string) {
	if len(r.faults) < maxErrors {
		r.faults = append(r.faults, answer.DocumentError{Pointer: pointer, Detail: detail})
	}
}

// members reads an object, which has at least the required members, and hands
// each one to read. It tells which there are; nil means that the value is no
// object. An error means that the rest cannot be read; all other faults are
// recorded.
func (r *reader) members(
	decoder *json.Decoder, pointer string, read func(name, pointer string, value json.RawMessage), required ...string,
) (map[string]bool, error) {
	first, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	if first != json.Delim('{') {
		r.fault(pointer, "must be a JSON object")
		return nil, nil
	}
	seen := make(map[string]bool)
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return seen, err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return seen, err
		}
		name := token.(string)
		at := pointer + "/" + pointerEscapes.Replace(name)
		if seen[name] {
			r.fault(at, "is given twice")
			continue
		}
		seen[name] = true
		read(name, at, value)
	}
	if _, err := decoder.Token(); err != nil {
		return seen, err
	}
	for _, name := range required {
		if !seen[name] {
			r.fault(pointer+"/"+name, "must be given")
		}
	}
	return seen, nil
}

// pointerEscapes are those of RFC 6901, section 3.
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func syntaxProblem(err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("is not valid JSON at byte %d", syntax.Offset)
	}
	return "ends in the middle of its JSON"
}

// subject is the zero Subject if there is a fault.
func (r *reader) subject(pointer string, value json.RawMessage) pseudonym.Subject {
	text, ok := r.text(pointer, value)
	if !ok {
		return pseudonym.Subject{}
	}
	subject, err := r.addressing.ParseSubject(text)
	if err != nil {
		r.fault(pointer, fmt.Sprintf("must have 1 to %d bytes", pseudonym.MaxSubjectBytes))
	}
	return subject
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
// hides a caller that calculates in floating point. It is 0 if there is a fault,
// and math.MaxInt64 stands for all above it.
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

// truth is false if there is a fault.
func (r *reader) truth(pointer string, value json.RawMessage) bool {
	switch string(value) {
	case "true":
		return true
	case "false":
		return false
	default:
		r.fault(pointer, "must be true or false")
		return false
	}
}
