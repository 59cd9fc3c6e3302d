package testserver

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"time"
)

// Report implements limit.Watched: where the threads of the server are, if there is a
// debugger, and the end of its log.
func (s *Server) Report() string {
	return fmt.Sprintf("%s at %s:\n%s\nthe end of its log:\n%s", s.engine.name, s.Addr(), s.stacks(), tail(s.log()))
}

// Abort implements limit.Watched. It does nothing while one of the methods of the server
// runs, which all have bounds.
func (s *Server) Abort() {
	if s.mu.TryLock() {
		defer s.mu.Unlock()
		_ = s.kill() // otherwise calls go on until go test ends them
	}
}

func (s *Server) stacks() string {
	if !s.mu.TryLock() {
		return "no stacks: one of its methods runs"
	}
	defer s.mu.Unlock()
	gdb, err := exec.LookPath("gdb")
	if !s.running() || err != nil {
		return "no stacks: it does not run, or gdb is not installed"
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, _ := exec.CommandContext(ctx, gdb, "-p", strconv.Itoa(s.proc.pid), "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "thread apply all -s backtrace 12").CombinedOutput() // what it prints says why it failed
	return string(out[:min(len(out), 20000)])
}
