package evaluation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"

	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// layer is one level that a caller asks for. Its numbers are at most
// math.MaxInt64, which stands for all above it.
type layer struct {
	name     string
	policyID string
	subject  pseudonym.Subject
	cost     int64
	limit    int64 // 0 if the caller left it out
	shared   bool
}

// levelName is the form that [ratelimit.Level] describes.
var levelName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// layerPointer leads to a member of a layer.
func layerPointer(index int, member string) string {
	return "/layers/" + strconv.Itoa(index) + "/" + member
}

// layers are none if there is a fault.
func (r *documentReader) layers(pointer string, value json.RawMessage) []layer {
	var elements []json.RawMessage
	if err := json.Unmarshal(value, &elements); err != nil {
		r.fault(pointer, "must be an array")
		return nil
	}
	if n := len(elements); n < 1 || n > ratelimit.MaxLevels {
		r.fault(pointer, fmt.Sprintf("has %d levels, must have 1 to %d", n, ratelimit.MaxLevels))
		return nil
	}
	before := len(r.faults)
	layers := make([]layer, len(elements))
	for i, element := range elements {
		layers[i] = r.layer(pointer+"/"+strconv.Itoa(i), element)
	}
	if len(r.faults) > before {
		return nil
	}
	return layers
}

func (r *documentReader) layer(pointer string, value json.RawMessage) layer {
	read := layer{cost: 1}
	_, err := r.members(json.NewDecoder(bytes.NewReader(value)), pointer, func(name, pointer string, value json.RawMessage) {
		switch name {
		case "name":
			read.name = r.levelName(pointer, value)
		case "policyId":
			read.policyID, _ = r.text(pointer, value)
		case "subject":
			read.subject = r.subject(pointer, value)
		case "cost":
			read.cost = r.wholeNumber(pointer, value, math.MaxInt64)
		case "limit":
			read.limit = r.wholeNumber(pointer, value, math.MaxInt64)
		case "shared":
			read.shared = r.truth(pointer, value)
		default:
			r.fault(pointer, "is unknown")
		}
	}, "name", "policyId", "subject")
	if err != nil {
		r.fault(pointer, syntaxProblem(err))
	}
	return read
}

func (r *documentReader) levelName(pointer string, value json.RawMessage) string {
	name, ok := r.text(pointer, value)
	if ok && !levelName.MatchString(name) {
		r.fault(pointer, fmt.Sprintf("must match %s", levelName))
	}
	return name
}

// root finds the layer that the caller names as the root, or else the last one
// that is not shared, or else the last one. It is false if there is a fault.
func (r *documentReader) root(layers []layer) (int, bool) {
	root := len(layers) - 1
	for i, layer := range layers {
		if r.rootName != nil && layer.name == *r.rootName {
			return i, true
		}
		if !layer.shared {
			root = i
		}
	}
	if r.rootName != nil {
		r.fault("/root", "is the name of no level")
	}
	return root, r.rootName == nil
}

// namedApart records which layers have the name of an earlier one.
func (r *documentReader) namedApart(layers []layer) {
	seen := make(map[string]bool)
	for i, layer := range layers {
		if seen[layer.name] {
			r.fault(layerPointer(i, "name"), "is that of another level")
		}
		seen[layer.name] = true
	}
}

// countedApart records which layers have the counter of an earlier one: the same
// policy, subject and scope, which [ratelimit.LayeredRequest.Scope] describes.
func (r *documentReader) countedApart(layers []layer, root int) {
	type counter struct {
		policyID       string
		scope, subject pseudonym.Subject
	}
	seen := make(map[counter]string)
	for i, layer := range layers {
		of := counter{layer.policyID, layers[root].subject, layer.subject}
		if layer.shared {
			of.scope = layer.subject
		}
		if earlier, taken := seen[of]; taken {
			r.fault(layerPointer(i, "subject"), "is that of level "+earlier+", under the same policy")
		}
		seen[of] = layer.name
	}
}
