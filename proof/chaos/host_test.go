package chaos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/lease"
)

// maxBehind is how far a host's clock may have been set back.
const maxBehind = 5 * time.Second

// apart breaks the protocol: each process has its own directory.
const apart = "a directory for each process"

// local opens the center of a process on a host.
func (s store) local(breaking string) (lease.Center, error) {
	off, err := shared(s.Dir + ".clock")
	if err != nil {
		return nil, err
	}
	cfg := hostseq.Config{Source: hostseq.Lock, Dir: s.Dir, MaxBehind: maxBehind}
	if breaking == apart {
		cfg.Dir = filepath.Join(s.Dir, fmt.Sprint(os.Getpid()))
	}
	return hostseq.New(cfg, layout, hostseq.WithClock(func() time.Time { return stepped(time.Now(), time.Duration(off.Load())) }))
}

// A host is a machine with its clock and the directory that its processes share.
type host struct {
	*arena
	dir    store
	center lease.Center // lends nothing
	steps  sync.Mutex   // held to step the clock, or to keep it from being stepped
}

// newLocal is a host without a center.
func newLocal(t *testing.T) *arena {
	h := &host{dir: store{Kind: oneHost, Dir: filepath.Join(t.TempDir(), "slots")}}
	off, err := shared(h.dir.Dir + ".clock")
	require.NoError(t, err)
	h.center, err = h.dir.local("")
	require.NoError(t, err)
	h.arena = &arena{
		network: &network{}, share: 100, clock: &clock{host: off},
		store: func(int) store { return h.dir }, direct: func() store { return h.dir }, tend: h.tend,
	}
	h.faults = []fault{
		{"host's clock stepped forward", func(_ context.Context, random *rand.Rand) error {
			h.step(func() time.Duration { return upTo(random, 4*maxBehind) })
			return nil
		}},
		{"host's clock stepped back", func(_ context.Context, random *rand.Rand) error {
			h.step(func() time.Duration { return h.within(random) })
			return nil
		}},
		{"host's clock stepped back past what is allowed, and forward again", func(ctx context.Context, random *rand.Rand) error {
			before := h.clock.off
			h.step(func() time.Duration { return -maxBehind - 2*ttl - upTo(random, time.Minute) })
			err := onEach(h.crew.choose(random, 4), h.crew.replace) // which do not get these worker ids
			pause(ctx, ttl)
			short(ctx, random)
			h.step(func() time.Duration { return before - h.clock.off })
			return err
		}},
		{"host restarted with its clock behind", func(_ context.Context, random *rand.Rand) error {
			h.steps.Lock() // lock first: an administrator who holds it waits for a process
			defer h.steps.Unlock()
			return h.crew.reboot(func() { h.clock.step(h.within(random)) })
		}},
		{"slot files damaged while they are held", func(_ context.Context, random *rand.Rand) error {
			return onEach(random.Perm(workers)[:1+random.IntN(4)], func(worker int) error {
				slot, err := os.OpenFile(h.path(int64(worker)), os.O_RDWR, 0)
				if errors.Is(err, fs.ErrNotExist) { // deleted by the administrator
					return nil
				}
				return errors.Join(err, damage(slot, random), slot.Close())
			})
		}},
		{"slot files damaged after their processes were killed", func(_ context.Context, random *rand.Rand) error {
			return h.vacate(random, func(slot *os.File) error { return errors.Join(damage(slot, random), slot.Close()) })
		}},
		{"slot files locked by a stranger", func(ctx context.Context, random *rand.Rand) error {
			var locked []*os.File
			err := h.vacate(random, func(slot *os.File) error {
				locked = append(locked, slot)
				return nil
			})
			short(ctx, random)
			return errors.Join(err, onEach(locked, (*os.File).Close))
		}},
		{"processes that can open no file", func(ctx context.Context, random *rand.Rand) error {
			some := h.crew.choose(random, 12)
			err := onEach(some, func(s *seat) error { return openFiles(s.process, 0) })
			short(ctx, random)
			return errors.Join(err, onEach(some, func(s *seat) error {
				defer s.Unlock()
				return openFiles(s.process, unix.RLIM_INFINITY)
			}))
		}},
	}
	return h.arena
}

func (h *host) step(by func() time.Duration) {
	h.steps.Lock()
	defer h.steps.Unlock()
	h.clock.step(by())
}

// within returns a step back that is allowed.
func (h *host) within(random *rand.Rand) time.Duration {
	return -max(0, min(upTo(random, maxBehind), maxBehind-h.clock.behind()))
}

func (h *host) path(worker int64) string {
	return filepath.Join(h.dir.Dir, fmt.Sprintf("%s.%d.slot", namespace, worker))
}

// lock locks the file of a slot. It returns nil if another process has the lock or
// there is no file.
func (h *host) lock(worker int64) (*os.File, error) {
	slot, err := os.OpenFile(h.path(worker), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err = unix.Flock(int(slot.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		return slot, nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = nil
	}
	return nil, errors.Join(err, slot.Close())
}

// vacate kills processes and calls do on as many slots, holding their locks before
// other processes can take them.
func (h *host) vacate(random *rand.Rand, do func(slot *os.File) error) error {
	some := h.crew.choose(random, 4)
	err := onEach(some, func(s *seat) error { return s.kill() })
	left := len(some)
	for _, worker := range random.Perm(workers) {
		if left == 0 {
			break
		}
		slot, e := h.lock(int64(worker))
		if err = errors.Join(err, e); slot != nil {
			err = errors.Join(err, do(slot))
			left--
		}
	}
	return errors.Join(err, onEach(some, h.crew.replace))
}

// damage corrupts a record: it truncates the file, overwrites part of it, or appends
// to it. The next renewal does not repair the file.
func damage(slot *os.File, random *rand.Rand) error {
	info, err := slot.Stat()
	if err != nil {
		return err
	}
	garbage := make([]byte, 4+random.IntN(60))
	for i := range garbage {
		garbage[i] = byte(random.Uint32())
	}
	at := random.Int64N(info.Size() + 1)
	switch random.IntN(3) {
	case 0:
		return slot.Truncate(at)
	case 1:
		at = info.Size()
	}
	_, err = slot.WriteAt(garbage, at)
	return err
}

// openFiles limits the number of files that a process may have open.
func openFiles(p *process, bound uint64) error {
	if info, err := os.Stat(p.Journal); err != nil || info.Size() == 0 { // hardly begun
		return nil
	}
	var is unix.Rlimit
	err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &is)
	if err == nil {
		is.Cur = min(bound, is.Max)
		err = unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_NOFILE, &is, nil)
	}
	if errors.Is(err, syscall.ESRCH) {
		err = nil
	}
	return err
}

// tend plays an administrator who deletes damaged files until ctx ends.
func (h *host) tend(ctx context.Context) error {
	for ctx.Err() == nil {
		for worker := range int64(workers) {
			if err := h.mend(ctx, worker); err != nil && ctx.Err() == nil {
				return err
			}
		}
		pause(ctx, 200*time.Millisecond)
	}
	return nil
}

// mend deletes the file of a slot if it is damaged, nobody holds it, and the clock has
// passed all ids of its worker id. The clock must not be set back until the worker id
// has a record again, since without one it looks like that of a new host.
func (h *host) mend(ctx context.Context, worker int64) error {
	h.steps.Lock()
	defer h.steps.Unlock()
	if token, err := h.token(ctx, worker); err != nil || token >= 0 {
		return err
	}
	slot, err := h.lock(worker)
	if err != nil || slot == nil {
		return err
	}
	defer slot.Close()
	if token, err := h.token(ctx, worker); err != nil || token >= 0 { // given back meanwhile
		return err
	}
	last, err := h.crew.ceiling(worker)
	if err != nil || time.Now().Add(h.clock.off).UnixMilli() <= last {
		return err
	}
	if err := os.Remove(slot.Name()); err != nil {
		return err
	}
	for token := int64(-1); token < 1; {
		pause(ctx, 20*time.Millisecond)
		if token, err = h.token(ctx, worker); err != nil {
			return err
		}
	}
	return nil
}

// token returns the token in the record of a worker id: 0 if it was never lent, -1 if
// there is no readable record.
func (h *host) token(ctx context.Context, worker int64) (int64, error) {
	slots, err := h.center.Extras().Lister.Slots(ctx, namespace)
	for _, s := range slots {
		if s.Worker == worker {
			return s.Token, err
		}
	}
	return -1, err
}
