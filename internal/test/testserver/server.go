package testserver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowlease/snowlease/internal/test/limit"
)

// A Server is a database server for one test. It is running when it is returned, and
// is stopped and removed when the test ends. Its methods fail the test on errors. They
// are safe for concurrent use.
type Server struct {
	t      testing.TB // nil for a shared server
	engine *engine
	dir    string
	port   int
	ports  reservation
	args   []string
	shim   string // preloaded for ShiftClock; empty: the machine's clock

	mu     sync.Mutex
	proc   *process // nil: not running
	paused bool
}

// Addr returns the address of the server as host:port.
func (s *Server) Addr() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// DSN returns the DSN for the usual client: see NewMariaDB, NewPostgres, NewRedis.
func (s *Server) DSN() string { return s.engine.dsn(s.port) }

// Dir returns the data directory.
func (s *Server) Dir() string { return s.data() }

// Start starts a stopped or killed server with the same address, arguments and data,
// and returns when it answers. After Wipe the server is empty.
func (s *Server) Start() {
	s.t.Helper()
	s.do((*Server).start)
}

// Stop ends the server cleanly.
func (s *Server) Stop() {
	s.t.Helper()
	s.do(func(s *Server) error { return s.end(s.engine.stop) })
}

// Kill ends the server and the processes it started with SIGKILL.
func (s *Server) Kill() {
	s.t.Helper()
	s.do((*Server).kill)
}

// Pause stops the server and the processes it started with SIGSTOP. Connections stay
// open, and nothing answers.
func (s *Server) Pause() {
	s.t.Helper()
	s.do(func(s *Server) error {
		if !s.running() {
			return errors.New("it is not running")
		}
		s.paused = true
		return s.proc.pause()
	})
}

// Resume ends a Pause.
func (s *Server) Resume() {
	s.t.Helper()
	s.do(func(s *Server) error {
		if !s.running() {
			return errors.New("it is not running")
		}
		s.paused = false
		return s.proc.resume()
	})
}

// Wipe removes the data of a stopped or killed server. The next Start creates it anew;
// a PostgreSQL then has another system identifier.
func (s *Server) Wipe() {
	s.t.Helper()
	s.do(func(s *Server) error {
		if s.running() {
			return errors.New("it is running")
		}
		return os.RemoveAll(s.data())
	})
}

func (s *Server) do(f func(*Server) error) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := f(s); err != nil {
		s.t.Errorf("testserver: %s at %s: %v", s.engine.name, s.Addr(), err)
		s.t.FailNow()
	}
}

func newServer(t testing.TB, e *engine, args []string) *Server {
	t.Helper()
	need(t, e, "")
	shim, _ := clockShim() // only ShiftClock needs it, and reports the error
	s, err := start(e, args, shim)
	if err != nil {
		t.Fatal(err)
	}
	s.t = t
	limit.Watch(t, s)
	s.describe(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("testserver: the end of the log of %s at %s:\n%s", e.name, s.Addr(), tail(s.log()))
		}
		if err := s.remove(); err != nil {
			t.Error(err)
		}
		state.Lock()
		delete(state.servers, s)
		state.Unlock()
	})
	return s
}

// start creates and starts a server, which stopAll will stop.
func start(e *engine, args []string, shim string) (*Server, error) {
	dir, err := os.MkdirTemp("", "snowlease-test-")
	if err != nil {
		return nil, err
	}
	s := &Server{engine: e, dir: dir, args: args, shim: shim}
	// Another process may take the port before the server does.
	for range 3 {
		s.ports.release()
		reserve := e.reserved
		if reserve == nil {
			reserve = func() (int, reservation, error) { return freePort(e.beside...) }
		}
		if s.port, s.ports, err = reserve(); err != nil {
			break
		}
		if err = s.start(); err == nil || !errors.Is(err, errEnded) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("testserver: start %s: %w", e.name, err), s.remove())
	}
	state.Lock()
	defer state.Unlock()
	if state.servers == nil {
		state.servers = map[*Server]struct{}{}
	}
	state.servers[s] = struct{}{}
	return s, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }
func (s *Server) log() string  { return filepath.Join(s.dir, "log") }

// running also returns false for a server that ended by itself.
func (s *Server) running() bool {
	if s.proc == nil {
		return false
	}
	select {
	case <-s.proc.done:
		return false
	default:
		return true
	}
}

// answers also returns false for a paused server.
func (s *Server) answers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running() && !s.paused
}

// errEnded reports that the server ended before it answered.
var errEnded = errors.New("the server ended at once")

const startTimeout = time.Minute

// start starts the server. A Galera node ends if it cannot get its data from another node,
// and expects to be started again.
func (s *Server) start() (err error) {
	for range 3 {
		if err = s.startOnce(); !s.engine.joins || !errors.Is(err, errEnded) {
			return err
		}
	}
	return err
}

func (s *Server) startOnce() error {
	if s.running() {
		return errors.New("it is running already")
	}
	s.paused = false
	if _, err := os.Stat(s.data()); os.IsNotExist(err) {
		if err := shareDir(s.dir, s.engine.runAs); err != nil {
			return err
		}
		if err := s.engine.create(s); err != nil {
			return err
		}
	}
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := s.exec(append(s.engine.command(s), s.args...))
	cmd.Stdout, cmd.Stderr = log, log
	if s.shim != "" {
		if _, err := os.Stat(s.clock()); os.IsNotExist(err) {
			if err := os.WriteFile(s.clock(), make([]byte, 8), 0o644); err != nil {
				return err
			}
		}
		cmd.Env = append(cmd.Env, "LD_PRELOAD="+s.shim, "SNOWLEASE_TEST_CLOCK="+s.clock())
	}
	if s.proc, err = spawn(cmd, s.engine.runAs); err != nil {
		return err
	}
	if err = s.await(); err != nil {
		err = fmt.Errorf("%w\n%s", err, tail(s.log()))
		return errors.Join(err, s.kill())
	}
	return nil
}

// await returns once the server answers. Nodes of a Galera cluster get their data from
// another node one after the other.
func (s *Server) await() error {
	timeout := startTimeout
	if s.engine.joins {
		timeout *= 3
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	for {
		err := s.engine.ping(ctx, s)
		if !s.running() { // another server answered
			return errEnded
		}
		if err == nil {
			return nil
		}
		select {
		case <-s.proc.done:
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("no answer within %v: %w", timeout, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// end ends the server with a signal that it handles.
func (s *Server) end(sig syscall.Signal) error {
	if s.proc == nil {
		return nil
	}
	if err := errors.Join(s.proc.resume(), s.proc.signal(sig)); err != nil {
		return err
	}
	select {
	case <-s.proc.done:
		s.proc = nil
		return nil
	case <-time.After(startTimeout):
		return errors.Join(fmt.Errorf("it did not end within %v of %v", startTimeout, sig), s.kill())
	}
}

func (s *Server) kill() error {
	if s.proc == nil {
		return nil
	}
	if err := s.proc.kill(); err != nil {
		return err
	}
	<-s.proc.done
	s.proc = nil
	return nil
}

// remove ends the server the quickest way and removes its folder.
func (s *Server) remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.ports.release()
	return errors.Join(s.end(s.engine.discard), os.RemoveAll(s.dir))
}

// freePort returns a port that nobody listens on, below the range that the kernel uses
// for outgoing connections. The reservation keeps it free while its server is down. The
// ports at the given distances above it are free and reserved too.
func freePort(beside ...int) (int, reservation, error) {
	var err error
	for range 100 {
		port := 15000 + rand.IntN(17000-slices.Max(append(beside, 0)))
		var held reservation
		err = held.add(port)
		for _, above := range beside {
			err = errors.Join(err, held.add(port+above))
		}
		if err == nil {
			return port, held, nil
		}
		held.release()
	}
	return 0, nil, err
}

// A reservation keeps TCP ports from other tests, also those of other processes, by the
// UDP ports of the same numbers. The kernel ends it with the process.
type reservation []net.PacketConn

// add reserves a port that nobody listens on. It connects to it: if it listened, a process that is being
// started would have the listener for a moment.
func (r *reservation) add(port int) error {
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	held, err := net.ListenPacket("udp", addr)
	if err != nil {
		return err
	}
	*r = append(*r, held)
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	switch {
	case err == nil:
		return errors.Join(fmt.Errorf("port %d is in use", port), conn.Close())
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil
	}
	return err
}

func (r reservation) release() {
	for _, held := range r {
		_ = held.Close() // it has received nothing
	}
}

// Port returns a TCP port of 127.0.0.1 that no server of any test uses before this test
// ends.
func Port(t testing.TB) int {
	t.Helper()
	port, held, err := freePort()
	if err != nil {
		t.Fatalf("testserver: no port: %v", err)
	}
	t.Cleanup(held.release)
	return port
}

// tail returns the last lines of a log.
func tail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-3000):])
}

// clientSetting reports whether an environment entry configures database programs.
func clientSetting(entry string) bool {
	for _, prefix := range []string{"PG", "MYSQL", "MARIADB", "ETCD", "LC_", "LANG"} {
		if strings.HasPrefix(entry, prefix) {
			return true
		}
	}
	return false
}
