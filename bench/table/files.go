package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Files of a directory that holds a run: the medians, for readers, and every
// round, from which they can be computed again.
const (
	resultsFile  = "results.json"
	layeredFile  = "layered.json"
	programsFile = "programs.json"
	pagesFile    = "web.json"
	handlersFile = "handlers.json"
	machineFile  = "machine.json"

	roundsDirectory = "rounds"
	evaluationsFile = "evaluations.json"
)

// Write keeps run in directory.
func Write(directory string, run Run) error {
	machine, err := json.MarshalIndent(run.Machine, "", "  ")
	if err != nil {
		return err
	}
	rounds := filepath.Join(directory, roundsDirectory)
	if err := os.MkdirAll(rounds, 0o755); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(directory, machineFile), append(machine, '\n'), 0o644),
		writeRows(filepath.Join(directory, resultsFile), run.Evaluations.Medians(MedianEvaluation)),
		writeRows(filepath.Join(directory, layeredFile), run.Layered.Medians(MedianLayered)),
		writeRows(filepath.Join(directory, programsFile), run.Programs.Medians(MedianProgram)),
		writeRows(filepath.Join(directory, pagesFile), run.Pages.Medians(MedianPage)),
		writeRows(filepath.Join(directory, handlersFile), run.Handlers.Medians(MedianHandler)),
		writeRows(filepath.Join(rounds, evaluationsFile), run.Evaluations),
		writeRows(filepath.Join(rounds, layeredFile), run.Layered),
		writeRows(filepath.Join(rounds, programsFile), run.Programs),
		writeRows(filepath.Join(rounds, pagesFile), run.Pages),
		writeRows(filepath.Join(rounds, handlersFile), run.Handlers),
	)
}

// Read gives the run that is kept in directory, from its rounds. Medians that do
// not follow from them are an error.
func Read(directory string) (Run, error) {
	var run Run
	rounds := filepath.Join(directory, roundsDirectory)
	if err := errors.Join(
		read(filepath.Join(directory, machineFile), &run.Machine),
		read(filepath.Join(rounds, evaluationsFile), &run.Evaluations),
		read(filepath.Join(rounds, layeredFile), &run.Layered),
		read(filepath.Join(rounds, programsFile), &run.Programs),
		read(filepath.Join(rounds, pagesFile), &run.Pages),
		read(filepath.Join(rounds, handlersFile), &run.Handlers),
	); err != nil {
		return Run{}, err
	}
	return run, errors.Join(
		expectRows(filepath.Join(directory, resultsFile), run.Evaluations.Medians(MedianEvaluation)),
		expectRows(filepath.Join(directory, layeredFile), run.Layered.Medians(MedianLayered)),
		expectRows(filepath.Join(directory, programsFile), run.Programs.Medians(MedianProgram)),
		expectRows(filepath.Join(directory, pagesFile), run.Pages.Medians(MedianPage)),
		expectRows(filepath.Join(directory, handlersFile), run.Handlers.Medians(MedianHandler)),
	)
}

func read(name string, into any) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func writeRows[R any](name string, rows []R) error {
	text, err := format(rows)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}

func expectRows[R any](name string, rows []R) error {
	want, err := format(rows)
	if err != nil {
		return err
	}
	got, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s does not hold the medians of the rounds", name)
	}
	return nil
}

// format puts each row, or each round, on a line of its own.
func format[R any](rows []R) ([]byte, error) {
	var text bytes.Buffer
	text.WriteString("[")
	for i, row := range rows {
		line, err := json.Marshal(row)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text.WriteString(",")
		}
		text.WriteString("\n")
		text.Write(line)
	}
	text.WriteString("\n]\n")
	return text.Bytes(), nil
}
