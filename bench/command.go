package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"example.com/weir/bench/measure"
)

// Commands.
const (
	runCommand    = "run"
	checkCommand  = "check"
	reportCommand = "report"
	serveCommand  = "serve"
	helpCommand   = "help"
)

// command is a command line that was understood.
type command struct {
	name string
	plan measure.Plan
	path string // of serve
}

func parseCommand(args []string) (command, error) {
	if len(args) == 0 {
		return command{}, errors.New("a command must be given")
	}
	parsed := command{name: args[0], plan: wholePlan()}
	flags := flag.NewFlagSet(parsed.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	switch parsed.name {
	case runCommand:
		flags.StringVar(&parsed.plan.Address, "redis", "", "")
		flags.IntVar(&parsed.plan.Rounds, "rounds", parsed.plan.Rounds, "")
		flags.DurationVar(&parsed.plan.Duration, "duration", parsed.plan.Duration, "")
		flags.Func("callers", "", parsed.setCallers)
		flags.Func("contenders", "", parsed.setOnly)
	case serveCommand:
		flags.StringVar(&parsed.plan.Address, "redis", "", "")
		flags.StringVar(&parsed.path, "path", "", "")
	case checkCommand, reportCommand:
	case helpCommand, "-h", "-help", "--help":
		parsed.name = helpCommand
	default:
		return command{}, fmt.Errorf("unknown command %q", parsed.name)
	}
	if err := flags.Parse(args[1:]); err != nil {
		return command{}, err
	}
	return parsed, parsed.check(flags.Args())
}

func (c command) check(rest []string) error {
	needsServer := c.name == runCommand || c.name == serveCommand
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%s takes flags only, not %q", c.name, rest)
	case needsServer && c.plan.Address == "":
		return errors.New("-redis must be given")
	case c.plan.Rounds < 1 || c.plan.Rounds%2 == 0:
		return fmt.Errorf("-rounds is %d, must be an odd number", c.plan.Rounds)
	case c.plan.Duration < 10*time.Millisecond || c.plan.Duration > time.Minute:
		return fmt.Errorf("-duration is %v, must be 10ms to 1m", c.plan.Duration)
	}
	return nil
}

const maxCallers = 1024 // what a limiter admits at the same time

func (c *command) setCallers(list string) error {
	c.plan.Callers = nil
	for text := range strings.SplitSeq(list, ",") {
		callers, err := strconv.Atoi(text)
		if err != nil || callers < 1 || callers > maxCallers {
			return fmt.Errorf("%q is not 1 to %d", text, maxCallers)
		}
		c.plan.Callers = append(c.plan.Callers, callers)
	}
	return nil
}

func (c *command) setOnly(pattern string) error {
	if pattern == "" {
		return nil
	}
	only, err := regexp.Compile("^(?:" + pattern + ")")
	c.plan.Only = only
	return err
}
