package chaos

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A crew is the processes of one run. Each has a seat. When a process is killed or
// ends, another takes its seat.
type crew struct {
	dir   string
	seats []seat
	order order // common to all processes
	store func(group int) store
	brief func(*seat, *order) // sets what differs by seat, or nil

	mu      sync.Mutex
	random  *rand.Rand
	started int
	ended   []*process
	err     error // of processes that ended unexpectedly, and of tending

	times []times // from which processes draw

	killed, stopped, raised, lowered, old atomic.Int64

	spawn chan func() // to the thread that starts processes
}

// A seat holds one process after another. Whoever does something to the process holds
// the seat's lock; whoever replaces it also holds the crew's.
type seat struct {
	sync.Mutex
	index  int
	group  int
	holder string
	times  times
	*process
}

// A process issues ids.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	order
	gone  chan struct{} // closed when it has ended
	meant atomic.Bool   // its end is intended

	ids    atomic.Int64
	worker atomic.Int64
	why    atomic.Value // the last report.Why

	stderr bytes.Buffer // to be read when it has ended
}

// newCrew prepares a crew; enlist starts it. One thread starts all processes and lives as
// long as the crew, because the kernel kills a child with the thread that started it.
func newCrew(dir string, size, groups int, o order, s func(group int) store, seed uint64) *crew {
	c := &crew{
		dir: dir, seats: make([]seat, size), order: o, store: s, times: spread[:1],
		random: rand.New(rand.NewPCG(seed, 1)), spawn: make(chan func()),
	}
	for i := range c.seats {
		c.seats[i].index, c.seats[i].group, c.seats[i].holder = i, i%groups, fmt.Sprintf("chaos@host:%d", i)
	}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for f := range c.spawn {
			f()
		}
	}()
	return c
}

// enlist starts a process on each seat.
func (c *crew) enlist() error {
	for i := range c.seats {
		if err := c.fill(&c.seats[i]); err != nil {
			return err
		}
	}
	return nil
}

// fill starts a process on a seat that the caller has locked, or that nobody else knows.
func (c *crew) fill(s *seat) error {
	c.mu.Lock()
	o := c.order
	o.Seed = c.random.Uint64()
	o.Journal = filepath.Join(c.dir, fmt.Sprint(c.started))
	c.started++
	other := *old != "" && c.started%2 == 0 // so a seat changes its version, in either direction
	c.mu.Unlock()
	o.Store, o.Request = c.store(s.group), c.draw(s).of(o.Request)
	o.Request.Holder = s.holder
	if c.brief != nil {
		c.brief(s, &o)
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if other {
		program = *old
		c.old.Add(1)
	}
	p := &process{cmd: exec.Command(program), order: o, gone: make(chan struct{})}
	p.worker.Store(-1)
	p.cmd.Env = append(os.Environ(), orderVariable+"="+string(text))
	p.cmd.Stderr = &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	begun := make(chan error)
	c.spawn <- func() { begun <- p.cmd.Start() }
	if err := <-begun; err != nil {
		return err
	}
	c.mu.Lock()
	if s.process != nil {
		c.ended = append(c.ended, s.process)
	}
	s.process = p
	c.mu.Unlock()
	go func() {
		p.listen(out)
		if !p.meant.Load() {
			_ = c.failed(fmt.Errorf("chaos: process %d ended by itself: %v\n%s", p.cmd.Process.Pid, p.cmd.ProcessState, p.log()))
		}
		close(p.gone)
	}()
	return nil
}

// failed adds an error, unless it is nil, and returns all errors.
func (c *crew) failed(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = errors.Join(c.err, err)
	return c.err
}

func (p *process) listen(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var r report
		if json.Unmarshal(lines.Bytes(), &r) == nil { // a kill cuts reports off
			p.ids.Store(r.IDs)
			p.worker.Store(r.Worker)
			p.why.Store(r.Why)
		}
	}
	_ = p.cmd.Wait() // callers look at the state
	p.worker.Store(-1)
}

// signal sends a signal to a process that may have ended.
func (p *process) signal(sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// tell sends a command to a process that may have ended.
func (p *process) tell(command string) { _, _ = io.WriteString(p.in, command+"\n") }

func (p *process) kill() error {
	p.meant.Store(true)
	err := p.signal(syscall.SIGKILL)
	<-p.gone
	return err
}

// release lets a process give back its worker id and end.
func (p *process) release(within time.Duration) error {
	p.meant.Store(true)
	p.tell(stop)
	select {
	case <-p.gone:
		if !p.cmd.ProcessState.Success() {
			return fmt.Errorf("chaos: process %d: %v\n%s", p.cmd.Process.Pid, p.cmd.ProcessState, p.log())
		}
		return nil
	case <-time.After(within):
		err := p.kill()
		return errors.Join(fmt.Errorf("chaos: process %d did not end within %v\n%s", p.cmd.Process.Pid, within, p.log()), err)
	}
}

func (p *process) log() string {
	b := p.stderr.Bytes()
	return string(b[max(0, len(b)-2000):])
}

// holders counts the processes that hold a worker id and, if since is not nil, have
// issued more ids than since says.
func (c *crew) holders(since map[*process]int64) (n int) {
	for _, p := range c.present() {
		if before, ok := since[p]; p.worker.Load() >= 0 && (since == nil || ok && p.ids.Load() > before) {
			n++
		}
	}
	return n
}

// without returns why processes hold no worker id.
func (c *crew) without() (all []string) {
	for _, p := range c.present() {
		if p.worker.Load() < 0 {
			all = append(all, fmt.Sprint(p.Stream, ": ", p.why.Load()))
		}
	}
	return all
}

// present returns the processes on the seats.
func (c *crew) present() (all []*process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.seats {
		if p := c.seats[i].process; p != nil {
			all = append(all, p)
		}
	}
	return all
}

// everybody returns all processes so far.
func (c *crew) everybody() []*process {
	all := c.present()
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(all, c.ended...)
}

// issued counts the ids that processes have reported.
func (c *crew) issued() (n int64) {
	for _, p := range c.everybody() {
		n += p.ids.Load()
	}
	return n
}

// ceiling returns the last millisecond of all grants of a worker id.
func (c *crew) ceiling(worker int64) (last int64, err error) {
	for _, p := range c.everybody() {
		all, err := p.entries()
		if err != nil {
			return 0, err
		}
		for _, e := range all {
			if e.kind == granted && e.worker == worker {
				last = max(last, e.ceiling)
			}
		}
	}
	return last, nil
}

// entries returns what a process has noted so far, without what a kill has cut off.
func (p *process) entries() (all []entry, err error) {
	file, err := os.Open(p.Journal)
	if errors.Is(err, os.ErrNotExist) { // not begun
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for in := bufio.NewReader(file); err == nil; {
		var e entry
		if e, err = readEntry(in); err == nil {
			all = append(all, e)
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return all, err
}

// dismiss ends all processes, cleanly where possible.
func (c *crew) dismiss() error {
	var (
		all  = c.present()
		errs = make([]error, len(all))
		wait sync.WaitGroup
	)
	for i, p := range all {
		wait.Go(func() { errs[i] = p.release(30 * time.Second) })
	}
	wait.Wait()
	return errors.Join(append(errs, c.failed(nil))...)
}

// end ends the remaining processes and the thread that starts them.
func (c *crew) end() {
	for _, p := range c.present() {
		_ = p.kill()
	}
	close(c.spawn)
}
