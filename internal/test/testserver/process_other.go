//go:build !linux

package testserver

import (
	"errors"
	"os/exec"
	"syscall"
)

// Only Linux can tie a server's life to that of the tests.
const canStart = false

type process struct {
	pid  int
	done chan struct{}
}

func spawn(*exec.Cmd, string) (*process, error) { return nil, errors.ErrUnsupported }
func stopSpawning()                             {}
func shareDir(string, string) error             { return errors.ErrUnsupported }
func (p *process) signal(syscall.Signal) error  { return errors.ErrUnsupported }
func (p *process) pause() error                 { return errors.ErrUnsupported }
func (p *process) resume() error                { return errors.ErrUnsupported }
func (p *process) kill() error                  { return errors.ErrUnsupported }
