package programmodel

import (
	"bytes"
	"encoding/json"
)

// Files are the texts of the vector files, by the names of their programs.
func Files() (map[string][]byte, error) {
	files := make(map[string][]byte)
	for program, vectors := range Vectors() {
		text, err := encode(vectors)
		if err != nil {
			return nil, err
		}
		files[program] = text
	}
	text, err := encode(LayeredVectors())
	files[LayeredProgram] = text
	return files, err
}

// encode writes a JSON array with one vector on each line, so that a change shows
// as the lines it concerns.
func encode[V Vector | LayeredVector](vectors []V) ([]byte, error) {
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
