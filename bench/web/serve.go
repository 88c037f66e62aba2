package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Serve serves the path of that name until input ends, with Redis at address. It
// writes its own address to output, on a line, once it listens.
func Serve(ctx context.Context, name, address string, input io.Reader, output io.Writer) error {
	path, err := pathNamed(name)
	if err != nil {
		return err
	}
	handler, err := path.open(ctx, address)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	go func() {
		// Who has started this process holds the other end, so that it ends with
		// it, however that ends.
		_, _ = io.Copy(io.Discard, input)
		_ = server.Close()
	}()
	fmt.Fprintln(output, listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
