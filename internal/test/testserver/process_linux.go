package testserver

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const canStart = true

// A process is a running program that dies with this one.
type process struct {
	pid  int
	done chan struct{} // closed when it has ended
}

// spawner starts processes from one OS thread that lives until stopSpawning. The
// kernel kills a child when the thread that started it ends, not when the process ends
// (go.dev/issue/27505).
var spawner struct {
	sync.Mutex
	work chan func()
}

func stopSpawning() {
	spawner.Lock()
	defer spawner.Unlock()
	if spawner.work != nil {
		close(spawner.work)
		spawner.work = nil
	}
}

// spawn starts cmd. If the tests run as root and runAs is set, cmd runs as that user.
func spawn(cmd *exec.Cmd, runAs string) (*process, error) {
	// Set the user here: setpriv would clear Pdeathsig.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if runAs != "" && os.Geteuid() == 0 {
		uid, gid, err := ids(runAs)
		if err != nil {
			return nil, err
		}
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}

	spawner.Lock()
	if spawner.work == nil {
		work := make(chan func())
		spawner.work = work
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			for f := range work {
				f()
			}
		}()
	}
	started := make(chan error)
	spawner.work <- func() { started <- cmd.Start() }
	err := <-started
	spawner.Unlock()
	if err != nil {
		return nil, err
	}
	p := &process{pid: cmd.Process.Pid, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // callers look at cmd.ProcessState
		close(p.done)
	}()
	return p, nil
}

func (p *process) signal(sig syscall.Signal) error {
	select {
	case <-p.done: // the pid may belong to another process
		return nil
	default:
		return send(p.pid, sig)
	}
}

// pause returns when all threads of p and its descendants have stopped, which a signal
// does not wait for. It stops p first, so that p starts no process that pause would miss.
func (p *process) pause() error {
	if err := p.stop(p.pid); err != nil {
		return err
	}
	for _, pid := range p.children() {
		if err := p.stop(pid); err != nil {
			return err
		}
	}
	return nil
}

func (p *process) stop(pid int) error {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		select {
		case <-p.done: // the pids may belong to other processes
			return nil
		default:
		}
		if err := send(pid, syscall.SIGSTOP); err != nil || still(pid) {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("process %d does not stop", pid)
		}
	}
}

// still reports whether no thread of the process runs.
func still(pid int) bool {
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, t := range threads {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			if status, _ := stat(tid); status != "" && !strings.ContainsAny(status, "TtZX") {
				return false
			}
		}
	}
	return true
}

func (p *process) resume() error {
	return errors.Join(p.each(syscall.SIGCONT), p.signal(syscall.SIGCONT))
}

// kill returns when p and its descendants have ended. A PostgreSQL does not start
// while a child of the former one lives.
func (p *process) kill() error {
	if err := p.pause(); err != nil {
		return err
	}
	children := p.children()
	if err := errors.Join(p.each(syscall.SIGKILL), p.signal(syscall.SIGKILL)); err != nil {
		return err
	}
	end := time.Now().Add(startTimeout)
	for _, pid := range append(children, p.pid) {
		for ; alive(pid); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				return fmt.Errorf("process %d did not end within %v of SIGKILL", pid, startTimeout)
			}
		}
	}
	<-p.done
	return nil
}

// each signals all descendants of p.
func (p *process) each(sig syscall.Signal) error {
	for _, pid := range p.children() {
		if err := send(pid, sig); err != nil {
			return err
		}
	}
	return nil
}

// children returns all descendants of p.
func (p *process) children() []int {
	select {
	case <-p.done:
		return nil
	default:
	}
	byParent := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			_, parent := stat(pid)
			byParent[parent] = append(byParent[parent], pid)
		}
	}
	all := slices.Clone(byParent[p.pid])
	for i := 0; i < len(all); i++ {
		all = append(all, byParent[all[i]]...)
	}
	return all
}

// alive returns false for zombies, which the process that inherited them may never collect.
func alive(pid int) bool {
	status, _ := stat(pid)
	return status != "" && status != "Z" && status != "X"
}

// stat returns the state and the parent of a process, or zero values if there is none.
func stat(pid int) (status string, parent int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0
	}
	// "pid (name) state parent ...", where a name may contain anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}

func send(pid int, sig syscall.Signal) error {
	if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %v to process %d: %w", sig, pid, err)
	}
	return nil
}

func ids(name string) (uid, gid int, err error) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, 0, fmt.Errorf("as root, a server needs this user: %w", err)
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	return uid, gid, errors.Join(err1, err2)
}

// shareDir gives a folder to the user that the server runs as.
func shareDir(dir, runAs string) error {
	if runAs == "" || os.Geteuid() != 0 {
		return nil
	}
	uid, gid, err := ids(runAs)
	if err != nil {
		return err
	}
	return os.Chown(dir, uid, gid)
}
