package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

const usage = `weir limits the rate of requests.

Usage:
  weir [serve] [flags]   serve until SIGINT or SIGTERM; a second one ends at once
  weir version           print the version
  weir --help            print this text

Flags:
  --config FILE          YAML file (default: the environment's WEIR_CONFIG)
  --set KEY=VALUE        set one key, such as app.web.address=127.0.0.1:9090;
                         may be repeated
  --log-level LEVEL      debug, info, warn or error (default: info)

Defaults are overridden by the file, the file by the environment, the
environment by --set. APP_RATE_LIMIT__REDIS__ENDPOINT in the environment means
app.rate-limit.redis.endpoint: two underscores for a dot, one for a dash.

Exit codes: 0 after a clean stop, 2 for a wrong configuration or command line,
1 otherwise.
`

// Commands.
const (
	serveCommand   = "serve"
	versionCommand = "version"
	helpCommand    = "help"
)

// command is a command line that was understood.
type command struct {
	name       string
	configFile string
	set        []string
	logLevel   slog.Level
}

func parseCommand(args, environ []string) (command, error) {
	parsed := command{name: serveCommand, configFile: lookup(environ, "WEIR_CONFIG")}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		parsed.name, args = args[0], args[1:]
	}
	switch parsed.name {
	case serveCommand, versionCommand, helpCommand:
	default:
		return command{}, fmt.Errorf("unknown command %q", parsed.name)
	}
	if err := parsed.parseFlags(args); err != nil {
		return command{}, err
	}
	return parsed, nil
}

func (c *command) parseFlags(args []string) error {
	flags := flag.NewFlagSet("weir", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	if c.name == serveCommand {
		flags.StringVar(&c.configFile, "config", c.configFile, "")
		flags.Func("set", "", func(pair string) error {
			c.set = append(c.set, pair)
			return nil
		})
		flags.Func("log-level", "", c.setLogLevel)
	}
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		c.name = helpCommand
		return nil
	case err != nil:
		return err
	case flags.NArg() > 0:
		// It is not repeated: it may be the rest of a --set that was torn apart.
		return fmt.Errorf("%s takes flags only, and %d other arguments were given", c.name, flags.NArg())
	}
	return nil
}

func (c *command) setLogLevel(name string) error {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug,
		"info":  slog.LevelInfo,
		"warn":  slog.LevelWarn,
		"error": slog.LevelError,
	}
	level, known := levels[name]
	if !known {
		return errors.New("must be debug, info, warn or error")
	}
	c.logLevel = level
	return nil
}

// lookup is the value of a variable in environ, where the last entry counts.
func lookup(environ []string, name string) string {
	value := ""
	for _, entry := range environ {
		if key, text, _ := strings.Cut(entry, "="); key == name {
			value = text
		}
	}
	return value
}
