package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// process is a server that runs as a program of this machine.
type process struct {
	path      string
	port      port
	how       setup
	directory string // the server's working directory, with its log

	running *exec.Cmd // nil while it is killed
}

var _ machine = (*process)(nil)

func newProcess(ctx context.Context, path string, how setup) (*process, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	directory, err := os.MkdirTemp("", "redistest-")
	if err != nil {
		port.giveBack()
		return nil, err
	}
	p := &process{path: path, port: port, how: how, directory: directory}
	for name, content := range how.files() {
		if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
			_ = p.remove(ctx)
			return nil, err
		}
	}
	if err := p.start(ctx); err != nil {
		_ = p.remove(ctx)
		return nil, err
	}
	return p, nil
}

func (p *process) address() string { return net.JoinHostPort("127.0.0.1", p.port.String()) }

func (p *process) processID() int {
	if p.running == nil {
		return 0
	}
	return p.running.Process.Pid
}

func (p *process) pause(context.Context) error { return p.signal(syscall.SIGSTOP) }

func (p *process) resume(context.Context) error { return p.signal(syscall.SIGCONT) }

func (p *process) signal(signal os.Signal) error {
	if p.running == nil {
		return os.ErrProcessDone
	}
	return p.running.Process.Signal(signal)
}

func (p *process) kill(context.Context) error {
	if p.running == nil {
		return os.ErrProcessDone
	}
	err := p.running.Process.Kill()
	// The error of Wait says that the process was killed, as was wanted.
	_ = p.running.Wait()
	p.running = nil
	return err
}

func (p *process) start(context.Context) error {
	output, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer output.Close()
	//nolint:noctx // the server outlives the context
	command := exec.Command(p.path, p.how.arguments("127.0.0.1", p.port.number, p.directory)...)
	command.Dir, command.Stdout, command.Stderr = p.directory, output, output
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.path, err)
	}
	p.running = command
	return nil
}

func (p *process) remove(ctx context.Context) error {
	defer p.port.giveBack()
	if p.running != nil {
		if err := p.kill(ctx); err != nil {
			return err
		}
	}
	return os.RemoveAll(p.directory)
}

func (p *process) logFile() string { return filepath.Join(p.directory, "redis.log") }

func (p *process) log(context.Context) string {
	text, err := os.ReadFile(p.logFile())
	if err != nil {
		return err.Error()
	}
	return string(text)
}
