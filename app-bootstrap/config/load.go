package config

import (
	"fmt"
	"io"
	"os"
)

// Sources says what lies on top of the defaults. The zero Sources is the defaults
// alone.
type Sources struct {
	// File is the path of a YAML file; empty for none.
	File string
	// Environ is the environment as os.Environ gives it. Only variables of
	// Weir's sections are read; APP_RATE_LIMIT__REDIS__ENDPOINT means
	// app.rate-limit.redis.endpoint.
	Environ []string
	// Set are key=value pairs, which win over everything else.
	Set []string
	// ReadFile reads the file and the files of secrets. Nil means the
	// filesystem.
	ReadFile func(path string) ([]byte, error)
}

// Load reads, merges and checks all sources. The error is the [Faults] of all of
// them together. Warnings name what has no effect.
func Load(sources Sources) (Config, []Warning, error) {
	var faults collector
	written := readGiven(sources, &faults)
	r := resolver{collector: &faults, sources: sources, given: written}
	config := r.resolve(written.decode(&faults).App)
	if err := faults.sorted(); err != nil {
		return Config{}, nil, err
	}
	return config, r.warnings, nil
}

// Default is the configuration of someone who configures nothing: both
// listeners on the loopback interface, limits kept in the process.
func Default() Config {
	config, _, err := Load(Sources{})
	if err != nil {
		panic(fmt.Sprintf("config: the defaults are invalid: %v", err))
	}
	return config
}

// read reads at most limit bytes, so that a device or a mistaken path cannot
// fill the memory.
func (s Sources) read(path string, limit int64) ([]byte, error) {
	text, err := s.readAtMost(path, limit+1)
	if err != nil {
		return nil, readProblem(err)
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("larger than %d bytes", limit)
	}
	return text, nil
}

func (s Sources) readAtMost(path string, limit int64) ([]byte, error) {
	if s.ReadFile != nil {
		return s.ReadFile(path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, limit))
}
