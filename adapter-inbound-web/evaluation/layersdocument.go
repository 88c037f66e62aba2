package evaluation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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
	if !ok {
		return ""
	}
	if err := ratelimit.CheckIdentifier(name); err != nil {
		r.fault(pointer, err.Error())
	}
	return name
}

// checkTogether records what is wrong with layers beside each other, and keeps which
// one is the root.
func (r *documentReader) checkTogether(layers []layer) {
	levels := besideEachOther(layers)
	root := pseudonym.Digest{ratelimit.MaxLevels + 1} // of no level, until there is one
	if place := r.root(levels); place >= 0 {
		r.result.root = place
		root = levels[place].Subject
	}
	_, err := ratelimit.NewLayeredRequest(ratelimit.LayeredRequestSpec{Root: root, Levels: levels})
	faults, _ := errors.AsType[ratelimit.Faults](err)
	for _, fault := range faults {
		if pointer := levelPointers.Replace("/" + fault.Field); !strings.HasSuffix(pointer, "/policyId") {
			r.fault(pointer, fault.Problem)
		}
	}
}

// levelPointers makes /layers/0/name of /levels[0].name.
var levelPointers = strings.NewReplacer("/levels[", "/layers/", "].", "/")

// besideEachOther are levels with all of layers that one of them has to do with
// another. What stands in for their digests tells their subjects apart, and needs no
// key. Their numbers, and which policies there are, are checked later.
func besideEachOther(layers []layer) []ratelimit.Level {
	levels := make([]ratelimit.Level, len(layers))
	for i, given := range layers {
		first := slices.IndexFunc(layers, func(other layer) bool { return other.subject == given.subject })
		levels[i] = ratelimit.Level{
			Name: given.name, PolicyID: given.policyID, Subject: pseudonym.Digest{byte(first + 1)}, Cost: 1, Shared: given.shared,
		}
	}
	return levels
}

// root is the place of the level that the caller names as the root, or else of the
// default one. It is -1 after a fault.
func (r *documentReader) root(levels []ratelimit.Level) int {
	if r.rootName == nil {
		return ratelimit.DefaultRoot(levels)
	}
	place := slices.IndexFunc(levels, func(level ratelimit.Level) bool { return level.Name == *r.rootName })
	if place < 0 {
		r.fault("/root", "is the name of no level")
	}
	return place
}
