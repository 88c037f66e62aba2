package programmodel

import (
	"bytes"
	"encoding/json"
)

// Encode is the text of a vector file: a JSON array with one vector on each
// line, so that a change shows as the lines it concerns.
func Encode(vectors []Vector) ([]byte, error) {
	lines := make([][]byte, len(vectors))
	for i, vector := range vectors {
		line, err := json.Marshal(vector)
		if err != nil {
			return nil, err
		}
		lines[i] = line
	}
	return append(append([]byte("[\n"), bytes.Join(lines, []byte(",\n"))...), "\n]\n"...), nil
}
