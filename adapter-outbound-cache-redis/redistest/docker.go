package redistest

import (
	"context"
	"net"
	"os"
	"sync"

	"github.com/testcontainers/testcontainers-go"
)

// docker gives a client of the daemon that testcontainers-go uses. The caller
// closes it.
func docker(ctx context.Context) (*testcontainers.DockerClient, error) {
	prepareOnce()
	return testcontainers.NewDockerClientWithOpts(ctx)
}

// prepareOnce puts into the environment what testcontainers-go reads from there,
// once, at its first use. What the user has set stays.
var prepareOnce = sync.OnceFunc(func() {
	// The library's cleaner runs from an image of its own, which a machine
	// without a registry cannot have. Servers are ended here instead, and what a
	// killed test leaves behind has a label by which it can be removed.
	setDefault("TESTCONTAINERS_RYUK_DISABLED", "true")

	// In a container the library looks for published ports at the default
	// gateway. That is wrong where the daemon runs in this very container.
	if daemonIsHere() {
		setDefault("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")
	}
})

func setDefault(name, value string) {
	if _, set := os.LookupEnv(name); !set {
		_ = os.Setenv(name, value) // fails only on a malformed name
	}
}

// daemonIsHere reports whether this process is in a container that also holds
// the daemon's bridge, hence its published ports.
func daemonIsHere() bool {
	if _, err := os.Stat("/.dockerenv"); err != nil {
		return false
	}
	_, err := net.InterfaceByName("docker0")
	return err == nil
}

// localImages tells which images the daemon holds. Without a daemon it holds
// none.
func localImages(ctx context.Context) func(image string) bool {
	return func(image string) bool {
		client, err := docker(ctx)
		if err != nil {
			return false
		}
		defer client.Close()
		_, err = client.ImageInspect(ctx, image)
		return err == nil
	}
}
