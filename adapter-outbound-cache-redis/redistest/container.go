package redistest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"path"
	"strconv"

	dockercontainer "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
)

// label marks every container, so that leftovers can be found.
const label = "weir-test"

const redisPort = 6379

// filesDirectory is there in every image.
const filesDirectory = "/tmp"

// container is a server in a container.
type container struct {
	docker *testcontainers.DockerClient
	inside *testcontainers.DockerContainer
	port   port
	addr   string
}

var _ machine = (*container)(nil)

func newContainer(ctx context.Context, image string, how setup) (*container, error) {
	api, err := docker(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to Docker: %w", err)
	}
	host, bind, err := publishedOn(ctx)
	if err != nil {
		return nil, err
	}
	// Docker would choose another port after each restart, so it is chosen here.
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	exposed := strconv.Itoa(redisPort) + "/tcp"
	inside, err := testcontainers.Run(ctx, image,
		testcontainers.WithLogger(log.NewNoopLogger()),
		testcontainers.WithLabels(map[string]string{label: "true"}),
		testcontainers.WithExposedPorts(exposed),
		testcontainers.WithHostConfigModifier(func(config *dockercontainer.HostConfig) {
			config.PortBindings = network.PortMap{
				network.MustParsePort(exposed): {{HostIP: bind, HostPort: port.String()}},
			}
		}),
		testcontainers.WithFiles(how.inContainer()...),
		testcontainers.WithCmdArgs(how.arguments("0.0.0.0", redisPort, filesDirectory)...),
	)
	c := &container{docker: api, inside: inside, port: port, addr: net.JoinHostPort(host, port.String())}
	if err != nil {
		if inside == nil {
			port.giveBack()
		} else {
			_ = c.remove(ctx)
		}
		return nil, fmt.Errorf("start %s: %w", image, err)
	}
	return c, nil
}

// inContainer are the files that a container gets before it starts. Whoever the
// server runs as may read them.
func (s setup) inContainer() []testcontainers.ContainerFile {
	var files []testcontainers.ContainerFile
	for name, content := range s.files() {
		files = append(files, testcontainers.ContainerFile{
			Reader:            bytes.NewReader(content),
			ContainerFilePath: path.Join(filesDirectory, name),
			FileMode:          0o644,
		})
	}
	return files
}

// publishedOn tells at which host ports are published, and on which address of
// it. The servers have no password, so where the host is this machine nobody
// else gets to see them.
func publishedOn(ctx context.Context) (host string, bind netip.Addr, err error) {
	provider, err := testcontainers.NewDockerProvider(testcontainers.WithLogger(log.NewNoopLogger()))
	if err != nil {
		return "", netip.Addr{}, fmt.Errorf("connect to Docker: %w", err)
	}
	defer provider.Close()
	host, err = provider.DaemonHost(ctx)
	if err != nil {
		return "", netip.Addr{}, fmt.Errorf("find the daemon's host: %w", err)
	}
	if host == "localhost" || host == "127.0.0.1" {
		return "127.0.0.1", netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil
	}
	return host, netip.IPv4Unspecified(), nil
}

func (c *container) address() string { return c.addr }

// processID is none: Docker gives a published port to one container only, and
// tells if it cannot.
func (c *container) processID() int { return 0 }

func (c *container) pause(ctx context.Context) error {
	_, err := c.docker.ContainerPause(ctx, c.inside.GetContainerID(), client.ContainerPauseOptions{})
	return err
}

func (c *container) resume(ctx context.Context) error {
	_, err := c.docker.ContainerUnpause(ctx, c.inside.GetContainerID(), client.ContainerUnpauseOptions{})
	return err
}

func (c *container) kill(ctx context.Context) error {
	_, err := c.docker.ContainerKill(ctx, c.inside.GetContainerID(), client.ContainerKillOptions{Signal: "KILL"})
	if err != nil {
		return err
	}
	// The kill is a signal; the port is free once the container has ended.
	wait := c.docker.ContainerWait(ctx, c.inside.GetContainerID(), client.ContainerWaitOptions{})
	select {
	case <-wait.Result:
		return nil
	case err := <-wait.Error:
		return err
	}
}

func (c *container) start(ctx context.Context) error {
	_, err := c.docker.ContainerStart(ctx, c.inside.GetContainerID(), client.ContainerStartOptions{})
	return err
}

func (c *container) remove(ctx context.Context) error {
	defer c.docker.Close()
	defer c.port.giveBack()
	_, err := c.docker.ContainerRemove(ctx, c.inside.GetContainerID(),
		client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	return err
}

func (c *container) log(ctx context.Context) string {
	output, err := c.inside.Logs(ctx)
	if err != nil {
		return err.Error()
	}
	defer output.Close()
	text, err := io.ReadAll(output)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
