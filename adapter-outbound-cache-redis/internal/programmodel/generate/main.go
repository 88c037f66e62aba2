// Command generate writes the test vectors of the model into the directory that
// its argument names.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"example.com/weir/adapter-outbound-cache-redis/internal/programmodel"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate DIRECTORY")
		os.Exit(2)
	}
	if err := generate(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(directory string) error {
	files, err := programmodel.Files()
	if err != nil {
		return err
	}
	for program, text := range files {
		if err := os.WriteFile(filepath.Join(directory, program+".json"), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
