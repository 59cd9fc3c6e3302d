package fleet_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/snowlease/snowlease/proof/internal/fleet"
)

// A member is one process.
type member struct {
	order fleet.Order
	cmd   *exec.Cmd
	in    io.WriteCloser

	ready   chan struct{} // closed when it is ready
	settled chan struct{} // closed when it issues ids or was refused
	ended   chan struct{}

	mu      sync.Mutex
	reports []fleet.Report
	stderr  bytes.Buffer
	err     error // of reading its reports
}

// launch starts the program. It ends with ctx or when this process ends, which ends its input.
func launch(ctx context.Context, program string, order fleet.Order) (*member, error) {
	m := &member{order: order, ready: make(chan struct{}), settled: make(chan struct{}), ended: make(chan struct{})}
	m.cmd = exec.CommandContext(ctx, program)
	m.cmd.Stderr = logger{m}
	var err error
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	go m.listen(out)
	return m, nil
}

// instruct sends the order.
func (m *member) instruct() error {
	line, err := json.Marshal(m.order)
	if err != nil {
		return err
	}
	_, err = m.in.Write(append(line, '\n'))
	return err
}

// begin lets a process that is ready borrow a worker id.
func (m *member) begin() error {
	_, err := m.in.Write([]byte("\n"))
	return err
}

// listen reads the reports of the process until it ends.
func (m *member) listen(out io.Reader) {
	ready, settled := sync.OnceFunc(func() { close(m.ready) }), sync.OnceFunc(func() { close(m.settled) })
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break // a kill cuts reports off
		}
		var r fleet.Report
		err = json.Unmarshal(line, &r)
		m.mu.Lock()
		if m.reports = append(m.reports, r); err != nil {
			m.err = fmt.Errorf("report %q: %w", line, err)
		}
		m.mu.Unlock()
		switch r.Event {
		case fleet.Ready:
			ready()
		case fleet.Started, fleet.Refused:
			settled()
		}
	}
	_ = m.cmd.Wait() // callers look at the state
	ready()
	settled()
	close(m.ended)
}

// all returns the reports of an event so far.
func (m *member) all(event fleet.Event) []fleet.Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []fleet.Report
	for _, r := range m.reports {
		if r.Event == event {
			found = append(found, r)
		}
	}
	return found
}

// last returns the last report of an event.
func (m *member) last(event fleet.Event) (fleet.Report, bool) {
	found := m.all(event)
	if len(found) == 0 {
		return fleet.Report{}, false
	}
	return found[len(found)-1], true
}

// running reports whether the process has not ended.
func (m *member) running() bool {
	select {
	case <-m.ended:
		return false
	default:
		return true
	}
}

// killed reports whether the process was ended by SIGKILL.
func (m *member) killed() bool {
	status, ok := m.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// size returns how many bytes of ids the process has written.
func (m *member) size() int64 {
	info, err := os.Stat(m.order.IDs)
	if err != nil {
		return 0
	}
	return info.Size()
}

// ids returns the ids that the process has written.
func (m *member) ids() (ids []int64, err error) {
	raw, err := os.ReadFile(m.order.IDs)
	if errors.Is(err, os.ErrNotExist) { // it never issued
		err = nil
	}
	for ; len(raw) >= 8; raw = raw[8:] { // a kill may cut off the last one
		ids = append(ids, int64(binary.LittleEndian.Uint64(raw)))
	}
	return ids, err
}

// A loan is a worker id and the time range in which a process may use it.
type loan struct {
	namespace      string
	worker         int64
	floor, ceiling int64
}

// loans returns the loans of the process, as it reported them.
func (m *member) loans() []loan {
	m.mu.Lock()
	defer m.mu.Unlock()
	var loans []loan
	for _, r := range m.reports {
		var l *loan
		for i := range loans {
			if loans[i].worker == r.Worker && loans[i].floor == r.Floor {
				l = &loans[i]
			}
		}
		switch lent := r.Event == fleet.Lent || r.Event == fleet.Renewed; {
		case lent && l == nil:
			loans = append(loans, loan{m.order.Config.Namespace, r.Worker, r.Floor, r.Ceiling})
		case lent:
			l.ceiling = max(l.ceiling, r.Ceiling)
		case r.Event == fleet.Returned && l != nil:
			l.ceiling = max(l.floor, min(l.ceiling, r.LastUsed))
		}
	}
	return loans
}

// String describes the process: state, last reports, end of the log.
func (m *member) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := m.line()
	for _, r := range m.reports[max(0, len(m.reports)-5):] {
		report, _ := json.Marshal(r)
		text += "\n" + string(report)
	}
	log := m.stderr.Bytes()
	return text + "\n" + string(log[max(0, len(log)-1500):])
}

// brief returns the first line of String.
func (m *member) brief() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.line()
}

func (m *member) line() string {
	state, last := "running", fleet.Report{}
	if !m.running() {
		state = m.cmd.ProcessState.String()
	}
	if n := len(m.reports); n > 0 {
		last = m.reports[n-1]
	}
	text := fmt.Sprintf("process %d: %s, %s worker %d", m.cmd.Process.Pid, state, last.Event, last.Worker)
	if m.err != nil {
		text += fmt.Sprintf(", %v", m.err)
	}
	return text
}

// A logger keeps the log of a member.
type logger struct{ *member }

func (l logger) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stderr.Write(p)
}
