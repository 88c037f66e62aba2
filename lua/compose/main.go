// Command compose writes the programs of a directory of sources into another. A
// line of a source that reads "-- include NAME" stands for the lines of
// part/NAME.lua, which may include others, indented as that line is.
//
// So the algorithms are written once, and yet each program is one text that needs
// nothing else.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: compose SOURCES DIRECTORY")
		os.Exit(2)
	}
	if err := compose(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func compose(sources, directory string) error {
	programs, err := filepath.Glob(filepath.Join(sources, "*.lua"))
	if err != nil {
		return err
	}
	for _, program := range programs {
		lines, err := expand(program, filepath.Join(sources, "part"))
		if err != nil {
			return err
		}
		text := strings.Join(lines, "\n") + "\n"
		if err := os.WriteFile(filepath.Join(directory, filepath.Base(program)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// expand returns the lines of a file with those of the parts that it includes.
func expand(file, parts string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		code := strings.TrimLeft(line, " ")
		name, includes := strings.CutPrefix(code, "-- include ")
		if !includes {
			lines = append(lines, line)
			continue
		}
		included, err := expand(filepath.Join(parts, name+".lua"), parts)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		indent := line[:len(line)-len(code)]
		for _, line := range included {
			if line != "" {
				line = indent + line
			}
			lines = append(lines, line)
		}
	}
	return lines, nil
}
