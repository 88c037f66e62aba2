package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"
)

// Bounds of both listeners. There is no bound on reading or writing a body: it
// would cut long uploads and streams.
const (
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = time.Minute
	maxHeaderBytes    = 64 << 10
)

// ListenError: a listener cannot be opened.
type ListenError struct {
	// Key is the configuration key of Address.
	Key     string
	Address string
	Err     error
}

// Error says what to do about it.
func (e *ListenError) Error() string {
	if errors.Is(e.Err, syscall.EADDRINUSE) {
		return fmt.Sprintf("%s: %s is in use; stop what listens there or choose another address", e.Key, e.Address)
	}
	return fmt.Sprintf("%s: cannot listen on %s: %v; choose an address of this machine", e.Key, e.Address, e.Err)
}

// Unwrap is the error of the system.
func (e *ListenError) Unwrap() error { return e.Err }

type serverConfig struct {
	// key is the configuration key of address.
	key     string
	address string
	handler http.Handler
	// drain is how long running requests may take to end.
	drain time.Duration
	// certificate proves who the listener is; nil means that it speaks in clear.
	certificate *certificate
	// h2c lets a listener that speaks in clear take HTTP/2 too.
	h2c      bool
	logger   *slog.Logger
	failures failureReport
}

func (c serverConfig) protocols() *http.Protocols {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true) // over TLS
	protocols.SetUnencryptedHTTP2(c.h2c)
	return protocols
}

// server is one listener and what answers on it.
type server struct {
	config   serverConfig
	http     *http.Server
	listener net.Listener
	served   chan struct{}
	// cut ends what http does not know of any more: upgraded connections.
	cut context.CancelFunc
}

func newServer(config serverConfig) *server {
	connections, cut := context.WithCancel(context.Background())
	return &server{
		config: config,
		served: make(chan struct{}),
		cut:    cut,
		http: &http.Server{
			BaseContext:       func(net.Listener) context.Context { return connections },
			Protocols:         config.protocols(),
			TLSConfig:         config.certificate.config(),
			Handler:           config.handler,
			ReadHeaderTimeout: readHeaderTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
			// Without it net/http answers OPTIONS * by itself, unlimited.
			DisableGeneralOptionsHandler: true,
			ErrorLog:                     log.New(errorLog{config.logger}, "", 0),
		},
	}
}

// Addr is the address that s listens on, which tells the port that the system
// chose for port 0. Before the start it is the configured address.
func (s *server) Addr() string {
	if s.listener == nil {
		return s.config.address
	}
	return s.listener.Addr().String()
}

// start opens the listener, so that its error is known, and serves in the
// background.
func (s *server) start(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.config.address)
	if err != nil {
		return &ListenError{Key: s.config.key, Address: s.config.address, Err: systemError(err)}
	}
	s.listener = listener
	go func() {
		defer close(s.served)
		if err := s.serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.config.failures <- fmt.Errorf("%s: %w", s.config.key, err)
		}
	}()
	return nil
}

func (s *server) serve(listener net.Listener) error {
	if s.config.certificate == nil {
		return s.http.Serve(listener)
	}
	return s.http.ServeTLS(listener, "", "")
}

// stop lets running requests end, and cuts those that do not end in time.
// Upgraded connections, which have no end, are cut once all requests have ended.
func (s *server) stop(ctx context.Context) error {
	defer s.cut()
	if s.listener == nil {
		return nil
	}
	draining, cancel := context.WithTimeout(ctx, s.config.drain)
	defer cancel()
	err := s.http.Shutdown(draining)
	if errors.Is(err, context.DeadlineExceeded) {
		s.config.logger.Warn("requests did not end in time and were cut off", "key", s.config.key, "drain", s.config.drain)
		err = s.http.Close()
	}
	<-s.served
	return err
}

// systemError is what lies below the texts that package net puts around it: the
// address is named already.
func systemError(err error) error {
	var operation *net.OpError
	if errors.As(err, &operation) {
		return operation.Err
	}
	return err
}
