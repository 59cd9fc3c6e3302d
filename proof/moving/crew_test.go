package moving_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/migrate/takeover"
	"github.com/snowlease/snowlease/proof/internal/fleet"
	"github.com/snowlease/snowlease/snowflake"
)

// A service is the processes that issue one stream of ids, from whatever centers.
type service struct {
	t       *testing.T
	ctx     context.Context
	program string
	dir     string
	members []*member
}

func newService(t *testing.T, program string) *service {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	s := &service{t: t, ctx: ctx, program: program, dir: t.TempDir()}
	t.Cleanup(func() {
		for _, m := range s.members {
			_ = m.in.Close() // a process ends with its input
			<-m.ended
		}
	})
	return s
}

// A place is a namespace in a center.
type place struct {
	engine, dsn, namespace string
	layout                 snowflake.Layout
}

// order returns an order for a process with these worker ids of the place; "" means all.
func (p place) order(workers string) fleet.Order {
	return fleet.Order{Engine: p.engine, DSN: p.dsn, Config: idworker.Config{
		Namespace: p.namespace, Layout: p.layout, Workers: workers,
		Lease: idworker.LeaseConfig{TTL: 2 * time.Second, MaxTTL: 30 * time.Second}, Store: idworker.StoreConfig{Skew: 200 * time.Millisecond}, Wait: 10 * time.Second,
	}}
}

// side opens the center of the place for these worker ids.
func (s *service) side(p place, workers string) takeover.Side {
	s.t.Helper()
	order := p.order(workers)
	order.Config.Lease.TTL = order.Config.Lease.MaxTTL // Take's leases must outlast a slow machine
	req, err := order.Config.Request()
	require.NoError(s.t, err)
	center, closer, err := order.Center()
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, closer.Close()) })
	return takeover.Side{Center: center, Request: req, Layout: p.layout}
}

// open opens the namespace of the place, as "snowlease init" does.
func (s *service) open(p place) {
	s.t.Helper()
	side := s.side(p, "")
	require.NoError(s.t, side.Center.Extras().Init(s.ctx, side.Request))
}

// start starts processes and waits until they issue ids.
func (s *service) start(order fleet.Order, n int) (started []*member) {
	s.t.Helper()
	for range n {
		started = append(started, s.launch(order))
	}
	for _, m := range started {
		s.await(m.settled)
		require.True(s.t, m.has(fleet.Started), "%v", m)
	}
	return started
}

// refused starts a process that must fail, and returns its report.
func (s *service) refused(order fleet.Order) fleet.Report {
	s.t.Helper()
	m := s.launch(order)
	s.await(m.ended)
	for _, r := range m.all() {
		if r.Event == fleet.Refused {
			return r
		}
	}
	require.FailNow(s.t, "it was not refused", "%v", m)
	return fleet.Report{}
}

func (s *service) await(event <-chan struct{}) {
	s.t.Helper()
	select {
	case <-event:
	case <-s.ctx.Done():
		require.FailNow(s.t, "waited too long", "%v", s.members)
	}
}

// end ends processes: with SIGTERM cleanly, with SIGKILL leaving everything as it is.
func (s *service) end(sig syscall.Signal, members ...*member) {
	s.t.Helper()
	for _, m := range members {
		require.NoError(s.t, m.cmd.Process.Signal(sig), "%v", m)
	}
	for _, m := range members {
		s.await(m.ended)
		require.Equal(s.t, sig == syscall.SIGTERM, m.has(fleet.Done), "%v", m)
	}
}

// issue waits until each of the processes has issued n more ids.
func (s *service) issue(n int64, members ...*member) {
	s.t.Helper()
	want := map[*member]int64{}
	for _, m := range members {
		want[m] = m.issued() + n
	}
	for _, m := range members {
		for m.issued() < want[m] {
			select {
			case <-time.After(5 * time.Millisecond):
			case <-m.ended:
				require.FailNow(s.t, "it has ended", "%v", m)
			case <-s.ctx.Done():
				require.FailNow(s.t, "waited too long for ids", "%v", m)
			}
		}
	}
}

// ids returns the sorted ids of all processes that have ended, and how many of them
// are duplicates. The ids of each process must rise.
func (s *service) ids() (all []int64, twice int) {
	s.t.Helper()
	for _, m := range s.members {
		s.await(m.ended)
		ids := m.ids(s.t)
		for i := 1; i < len(ids); i++ {
			if ids[i] <= ids[i-1] {
				require.Greater(s.t, ids[i], ids[i-1], "%v", m)
			}
		}
		all = append(all, ids...)
	}
	slices.Sort(all)
	for i := 1; i < len(all); i++ {
		if all[i] == all[i-1] {
			twice++
		}
	}
	return all, twice
}

// A member is one process.
type member struct {
	order          fleet.Order
	cmd            *exec.Cmd
	in             io.WriteCloser
	settled, ended chan struct{}

	mu      sync.Mutex
	reports []fleet.Report
	stderr  bytes.Buffer
}

func (s *service) launch(order fleet.Order) *member {
	s.t.Helper()
	order.IDs = filepath.Join(s.dir, fmt.Sprint(len(s.members)))
	m := &member{order: order, settled: make(chan struct{}), ended: make(chan struct{})}
	m.cmd = exec.CommandContext(s.ctx, s.program)
	m.cmd.Stderr = &m.stderr
	var err error
	m.in, err = m.cmd.StdinPipe()
	require.NoError(s.t, err)
	out, err := m.cmd.StdoutPipe()
	require.NoError(s.t, err)
	line, err := json.Marshal(order)
	require.NoError(s.t, err)
	require.NoError(s.t, m.cmd.Start())
	s.members = append(s.members, m)
	go m.listen(out)
	_, err = m.in.Write(append(line, "\n\n"...)) // the second line starts it
	require.NoError(s.t, err)
	return m
}

func (m *member) listen(out io.Reader) {
	settled := sync.OnceFunc(func() { close(m.settled) })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var r fleet.Report
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			continue // cut off by a kill
		}
		m.mu.Lock()
		m.reports = append(m.reports, r)
		m.mu.Unlock()
		if r.Event == fleet.Started || r.Event == fleet.Refused {
			settled()
		}
	}
	_ = m.cmd.Wait() // callers look at the reports
	settled()
	close(m.ended)
}

func (m *member) all() []fleet.Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.reports)
}

func (m *member) has(event fleet.Event) bool {
	return slices.ContainsFunc(m.all(), func(r fleet.Report) bool { return r.Event == event })
}

// issued counts the ids that the process has written.
func (m *member) issued() int64 {
	info, err := os.Stat(m.order.IDs)
	if err != nil {
		return 0
	}
	return info.Size() / 8
}

func (m *member) ids(t *testing.T) []int64 {
	t.Helper()
	raw, err := os.ReadFile(m.order.IDs)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	ids := make([]int64, len(raw)/8) // a kill may cut off the last id
	for i := range ids {
		ids[i] = int64(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	return ids
}

// lent returns the grants of the process.
func (m *member) lent() (grants []fleet.Report) {
	for _, r := range m.all() {
		if r.Event == fleet.Lent {
			grants = append(grants, r)
		}
	}
	return grants
}

// String shows the last reports and, if the process has ended, its log.
func (m *member) String() string {
	reports := m.all()
	text, _ := json.Marshal(reports[max(0, len(reports)-4):])
	select {
	case <-m.ended:
		return fmt.Sprintf("%s %s\n%s", m.order.Config.Namespace, text, m.stderr.String())
	default:
		return fmt.Sprintf("%s %s", m.order.Config.Namespace, text)
	}
}
