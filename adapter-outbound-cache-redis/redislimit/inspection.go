package redislimit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/redis/go-redis/v9"
	"golang.org/x/mod/semver"

	"example.com/weir/adapter-outbound-cache-redis/internal/certainty"
	"example.com/weir/lua"
)

// inspection looks at what makes a server unfit although it runs the programs.
type inspection struct {
	client  *redis.Client
	logger  *slog.Logger
	aspects []*aspect
}

// aspect is one thing to look at.
type aspect struct {
	name string
	// look says what is wrong, if anything.
	look   func(context.Context, *redis.Client) (finding string, err error)
	untold sync.Once // somebody was told that the server does not tell
}

// errUntold: the server answers, and does not say what was asked.
var errUntold = errors.New("the answer does not say")

func newInspection(client *redis.Client, logger *slog.Logger) (*inspection, error) {
	var manifest struct{ MinimumServer minimumServer }
	if err := json.Unmarshal(lua.Manifest(), &manifest); err != nil {
		return nil, err
	}
	return &inspection{client: client, logger: logger, aspects: []*aspect{
		{name: "version", look: manifest.MinimumServer.look},
		{name: "maxmemory-policy", look: lookForEviction},
	}}, nil
}

// run lists the findings. What the server does not tell, be it that the user may
// not ask, is no reason to refuse it: that is logged, once.
func (i *inspection) run(ctx context.Context) ([]string, *certainty.Failure) {
	var findings []string
	for _, aspect := range i.aspects {
		finding, err := aspect.look(ctx, i.client)
		switch {
		case err == nil && finding != "":
			findings = append(findings, finding)
		case err == nil:
		case isAnswer(err):
			aspect.untold.Do(func() {
				i.logger.WarnContext(ctx, "redis does not tell, readiness cannot check it", "aspect", aspect.name, "error", err)
			})
		default:
			return nil, certainty.ClassifyUndispatched(err)
		}
	}
	return findings, nil
}

// isAnswer tells an answer of the server that is of no use from none at all.
func isAnswer(err error) bool {
	var refused redis.Error
	return errors.Is(err, errUntold) || errors.As(err, &refused)
}

// minimumServer is the oldest version to use, by kind of server.
type minimumServer map[string]string

// look asks by HELLO, which needs no permission, and in which Valkey gives its
// own name and version rather than those of the Redis that it stands in for.
func (m minimumServer) look(ctx context.Context, client *redis.Client) (string, error) {
	reply, err := client.Do(ctx, "HELLO").Slice()
	if err != nil {
		return "", err
	}
	told := make(map[string]string)
	for i := 0; i+1 < len(reply); i += 2 {
		told[fmt.Sprint(reply[i])] = fmt.Sprint(reply[i+1])
	}
	kind, version := told["server"], told["version"]
	least, known := m[kind]
	if !known || !semver.IsValid("v"+version) {
		return "", fmt.Errorf("%w: server %q, version %q", errUntold, kind, version)
	}
	if semver.Compare("v"+version, "v"+least) < 0 {
		return fmt.Sprintf("the server is %s %s, must be %s or newer", kind, version, least), nil
	}
	return "", nil
}

// lookForEviction asks by INFO, since CONFIG is for administrators. All state has
// a time to live, so any other policy may drop it, and who was denied is admitted
// again.
func lookForEviction(ctx context.Context, client *redis.Client) (string, error) {
	info, err := client.InfoMap(ctx, "memory").Result()
	if err != nil {
		return "", err
	}
	switch policy := info["Memory"]["maxmemory_policy"]; policy {
	case "noeviction":
		return "", nil
	case "":
		return "", errUntold
	default:
		return fmt.Sprintf("maxmemory-policy is %s, must be noeviction", policy), nil
	}
}
