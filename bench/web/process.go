package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// process is this program serving a path.
type process struct {
	path    path
	address string

	command *exec.Cmd
	input   io.Closer
}

func start(ctx context.Context, path path, redis string) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, program, "serve", "-redis", redis, "-path", path.name)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	address, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		_ = input.Close()
		return nil, errors.Join(fmt.Errorf("%s does not serve: %w", path.name, err), command.Wait())
	}
	return &process{path: path, address: strings.TrimSpace(address), command: command, input: input}, nil
}

func (p *process) stop() error {
	return errors.Join(p.input.Close(), p.command.Wait())
}

type processes []*process

func (p processes) stop() error {
	var errs []error
	for _, one := range p {
		errs = append(errs, one.stop())
	}
	return errors.Join(errs...)
}
