package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"go.uber.org/fx"

	"github.com/snowlease/snowlease/idworker"
)

// A socket takes the port when the application starts.
type socket struct{ net.Listener }

func newSocket(lc fx.Lifecycle, cfg config, log *slog.Logger) *socket {
	s := &socket{}
	lc.Append(fx.StartStopHook(
		func(ctx context.Context) (err error) {
			s.Listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen)
			if err != nil {
				return fmt.Errorf("take the address to listen on: %w: end the other program or choose another address by -listen, such as 127.0.0.1:0", err)
			}
			log.Info("fxapp: port reserved", "addr", s.Addr())
			return nil
		},
		func() error {
			if err := s.Close(); !errors.Is(err, net.ErrClosed) { // the server has closed it
				return err
			}
			return nil
		},
	))
	return s
}

// port takes the port, and server serves on it; with once there is neither.
func port(cfg config) fx.Option {
	if cfg.Once {
		return fx.Options()
	}
	return fx.Module("port", fx.Invoke(func(*socket) {}))
}

func server(cfg config) fx.Option {
	if cfg.Once {
		return fx.Options()
	}
	return fx.Module("http", fx.Invoke(startServer))
}

// drainTimeout bounds the wait for requests that run when the application stops.
const drainTimeout = 5 * time.Second

func startServer(lc fx.Lifecycle, sh fx.Shutdowner, sock *socket, s *store, w *idworker.IdWorker, log *slog.Logger) {
	srv := &http.Server{
		Handler:           newHandler(s, w, log),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      requestTimeout + 5*time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	ended := make(chan struct{})
	lc.Append(fx.StartStopHook(
		func() {
			go func() {
				defer close(ended)
				if err := srv.Serve(sock); !errors.Is(err, http.ErrServerClosed) {
					log.Error("fxapp: HTTP server", "err", err)
					_ = sh.Shutdown(fx.ExitCode(1)) // fails only where the app is stopping anyway
				}
			}()
			log.Info("fxapp: serving", "url", fmt.Sprintf("http://%s/orders", sock.Addr()), "console", fmt.Sprintf("http://%s/idworker/", sock.Addr()))
		},
		func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, drainTimeout)
			defer cancel()
			err := srv.Shutdown(ctx)
			if err != nil {
				log.Warn("fxapp: requests that still ran were cut off", "err", err)
				err = srv.Close()
			}
			<-ended
			return err
		},
	))
}
