package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// An engine describes how to run servers of one kind.
type engine struct {
	name, pkg string // for messages; the Debian package
	programs  []string
	optional  bool // may be missing in CI too, if scripts/engines.sh could not have it

	create  func(s *Server) error    // makes the data directory; nil: the server needs none
	command func(s *Server) []string // argv without the caller's arguments
	dsn     func(port int) string
	ping    func(ctx context.Context, s *Server) error
	version func(ctx context.Context, s *Server) (string, error) // with the name of the product

	stop    syscall.Signal // a clean stop
	discard syscall.Signal // a quick stop that leaves nothing outside the folder
	runAs   string         // the user to run as when the tests run as root; empty: root

	beside      []int                            // offsets from its port of other ports that it listens on
	replication *replication                     // nil: none
	reserved    func() (int, reservation, error) // the port, if it is known before the start
	joins       bool                             // takes its data from others at its start, which may fail
}

func (e *engine) missing() error {
	if !canStart {
		return errors.New("servers are started on Linux only")
	}
	for _, program := range e.programs {
		if _, err := lookup(program); err != nil {
			return err
		}
	}
	return nil
}

// lookup finds a program in PATH or in the usual folders of distributions.
func lookup(program string) (string, error) {
	if program == "mysqld" {
		return lookupMySQL()
	}
	return installed(program)
}

func installed(program string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	for _, pattern := range []string{"/usr/sbin/", "/usr/local/sbin/", "/usr/lib/postgresql/*/bin/"} {
		found, _ := filepath.Glob(pattern + program)
		if len(found) > 0 {
			return found[len(found)-1], nil
		}
	}
	return "", fmt.Errorf("no program %s found", program)
}

// unpacked returns the folder into which scripts/engines.sh unpacks an engine.
func unpacked(engine string) (string, error) {
	dir, err := above(filepath.Join(".tools", "engines", engine))
	if err != nil {
		return "", fmt.Errorf("scripts/engines.sh did not unpack %s", engine)
	}
	return dir, nil
}

// above finds a path in a folder above the one that a test runs in.
func above(path string) (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		full := filepath.Join(dir, path)
		if _, missing := os.Stat(full); missing == nil {
			return full, nil
		}
		if dir == filepath.Dir(dir) {
			err = fmt.Errorf("no folder above has %s", path)
		}
	}
	return "", err
}

// mustLookup finds a program. It is for programs that missing did not report.
func mustLookup(program string) string {
	path, err := lookup(program)
	if err != nil {
		return program
	}
	return path
}

// run runs a program as the user of the server and waits for it.
func (s *Server) run(argv ...string) error {
	cmd := s.exec(argv)
	out, err := os.Create(filepath.Join(s.dir, "setup.log"))
	if err != nil {
		return err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	p, err := spawn(cmd, s.engine.runAs)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-time.After(startTimeout):
		return errors.Join(fmt.Errorf("%s: not done within %v\n%s", argv[0], startTimeout, tail(out.Name())), p.kill())
	}
	if !cmd.ProcessState.Success() {
		return fmt.Errorf("%s: %v\n%s", argv[0], cmd.ProcessState, tail(out.Name()))
	}
	return nil
}

// output runs a program of the machine.
func output(program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return exec.CommandContext(ctx, program, args...).CombinedOutput()
}

// exec prepares a command that ignores database settings in the caller's environment.
func (s *Server) exec(argv []string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = s.dir
	for _, v := range os.Environ() {
		if !clientSetting(v) {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C")
	return cmd
}
