// Package page puts a run into documents for readers: the tables of a Markdown
// page, and charts.
package page

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"example.com/weir/bench/claim"
	"example.com/weir/bench/table"
)

// Documents are where a run is shown, below a directory of documents.
const (
	document = "performance.md"
	charts   = "performance"
)

// Write brings the documents below directory up to date with run.
func Write(directory string, run table.Run) error {
	name := filepath.Join(directory, document)
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if text, err = Fill(text, run); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(directory, charts), 0o755); err != nil {
		return err
	}
	for _, one := range allCharts() {
		drawn, err := one.draw(run)
		if err != nil {
			return fmt.Errorf("%s: %w", one.file, err)
		}
		if err := os.WriteFile(filepath.Join(directory, charts, one.file), drawn, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Check tells what is out of date in the documents below directory.
func Check(directory string, run table.Run) error {
	name := filepath.Join(directory, document)
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	filled, err := Fill(text, run)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if !bytes.Equal(text, filled) {
		return fmt.Errorf("%s does not show the results: run `make bench-report`", name)
	}
	for _, one := range allCharts() {
		drawn, err := os.ReadFile(filepath.Join(directory, charts, one.file))
		if err != nil {
			return err
		}
		if missing := one.missing(drawn, run); missing != "" {
			return fmt.Errorf("%s does not show %q: run `make bench-report`", one.file, missing)
		}
	}
	return nil
}

// Fill puts the tables of run between their markers in text.
func Fill(text []byte, run table.Run) ([]byte, error) {
	verdicts, err := claim.Judge(run)
	if err != nil {
		return nil, err
	}
	layers, err := levels(run)
	if err != nil {
		return nil, fmt.Errorf("levels: %w", err)
	}
	for name, content := range map[string]string{
		"machine":     machine(run.Machine),
		"claims":      claims(verdicts),
		"evaluations": evaluations(run.Evaluations.Medians(table.MedianEvaluation)),
		"levels":      layers,
		"programs":    programs(run.Programs.Medians(table.MedianProgram)),
		"web":         pages(run.Pages.Medians(table.MedianPage)),
		"handlers":    handlers(run.Handlers.Medians(table.MedianHandler)),
	} {
		if text, err = between(text, name, content); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// between replaces what stands between the markers of name.
func between(text []byte, name, content string) ([]byte, error) {
	begin := fmt.Appendf(nil, "<!-- begin %s -->\n", name)
	end := fmt.Appendf(nil, "<!-- end %s -->\n", name)
	before, rest, begins := bytes.Cut(text, begin)
	_, after, ends := bytes.Cut(rest, end)
	if !begins || !ends {
		return nil, fmt.Errorf("has no markers of %s", name)
	}
	return bytes.Join([][]byte{before, begin, []byte(content), end, after}, nil), nil
}
