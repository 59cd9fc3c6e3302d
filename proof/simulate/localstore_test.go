package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// Local is the directory of a host whose processes are the nodes. The center's faults
// in a plan are the host's: its clock is the center's clock, its disk is a slow and
// failing network, and Restart reboots it. DropLease and DropMark damage a record.
// Only TestLocalLimits uses Wipe. There is no Failover.
type Local struct {
	offset
	Dir     string
	reader  *hostseq.Center
	centers []*localCenter
	slots   []Slot // as last read
	stale   bool   // something may have been written since
}

// maxBehind is short, so that the clocks of some plans lag by more.
const maxBehind = time.Minute

// NewLocal returns an empty directory.
func NewLocal() (Store, error) {
	dir, err := tempDir()
	if err != nil {
		return nil, err
	}
	l := &Local{Dir: dir, stale: true}
	l.reader, err = hostseq.New(l.config(), snowflake.Layout{})
	return l, err
}

// tempDir returns a directory, on a memory file system if there is one.
func tempDir() (string, error) {
	dir, err := os.MkdirTemp("/dev/shm", "simulate-*")
	if err != nil {
		dir, err = os.MkdirTemp("", "simulate-*")
	}
	return dir, err
}

func (l *Local) config() hostseq.Config {
	return hostseq.Config{Source: hostseq.Lock, Dir: l.Dir, MaxBehind: maxBehind}
}

// Name returns "local".
func (*Local) Name() string { return "local" }

func (*Local) oneHost() {}

// Center returns a hostseq.Center for the process. It drops its locks when the process ends.
func (l *Local) Center(h *Host) (lease.Center, error) {
	c := &localCenter{store: l}
	inner, err := hostseq.New(l.config(), h.Layout, hostseq.WithMaxAhead(h.Ahead), hostseq.WithClock(l.Now))
	if err != nil {
		return nil, err
	}
	c.Center = inner
	l.centers = append(l.centers, c)
	if h.p != nil {
		h.p.atEnd = c.end
	}
	return stepped{c, c.step}, nil
}

// Reincarnate does nothing: a rebooted host keeps its directory.
func (*Local) Reincarnate() error { return nil }

// Snapshot returns an error.
func (*Local) Snapshot() (func() error, error) {
	return nil, errors.New("simulate: a directory has no replica")
}

// Shows returns true: nothing on a host goes by the times of others.
func (*Local) Shows(Kind, int64) (bool, error) { return true, nil }

// Lose empties the directory, or damages a record.
func (l *Local) Lose(what Kind, worker int64) error {
	l.stale = true
	path := filepath.Join(l.Dir, fmt.Sprintf("%s.%d.slot", namespace, worker))
	var err error
	switch what {
	case Wipe:
		var names []string
		if names, err = filepath.Glob(filepath.Join(l.Dir, "*")); err == nil {
			for _, name := range names {
				err = errors.Join(err, os.Remove(name))
			}
		}
	case DropLease:
		if _, err = os.Stat(path); err == nil {
			err = os.Truncate(path, 100)
		}
	default:
		var f *os.File
		if f, err = os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			_, err = f.WriteAt([]byte("damage"), 24)
			err = errors.Join(err, f.Close())
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Slots reads the records.
func (l *Local) Slots() ([]Slot, error) {
	if !l.stale {
		return l.slots, nil
	}
	names, err := filepath.Glob(filepath.Join(l.Dir, namespace+".*.slot"))
	if err != nil {
		return nil, err
	}
	records, err := l.reader.Extras().Lister.Slots(context.Background(), namespace)
	if err != nil {
		return nil, err
	}
	var slots []Slot
	at := func(worker int64) *Slot {
		for int64(len(slots)) <= worker {
			slots = append(slots, Slot{Mark: -1})
		}
		return &slots[worker]
	}
	for _, name := range names {
		var worker int64
		if _, err := fmt.Sscanf(filepath.Base(name), namespace+".%d.slot", &worker); err != nil {
			return nil, err
		}
		at(worker).Damaged = true
	}
	for _, r := range records {
		*at(r.Worker) = Slot{Mark: r.Mark, Owner: r.Holder}
	}
	l.slots, l.stale = slots, false
	return slots, nil
}

// Close ends all processes and removes the directory.
func (l *Local) Close() error {
	errs := []error{l.reader.Close()}
	for _, c := range l.centers {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(l.Dir))...)
}

// A localCenter is the center of one process. No call reaches the disk after the
// process has ended.
type localCenter struct {
	*hostseq.Center
	store *Local
	ended bool
}

// end does what the kernel does when a process ends.
func (c *localCenter) end() {
	c.ended = true
	_ = c.Close()
}

func (c *localCenter) step(ctx context.Context, call func() error) error {
	return Step(ctx, func() error {
		if c.ended {
			return errDead
		}
		c.store.stale = true
		return call()
	})
}

// Extras returns those of the product, with an Init.
func (c *localCenter) Extras() lease.Extras {
	x := c.Center.Extras()
	x.Init = c.init
	return x
}

// init makes the directory look used: each worker id was lent once.
func (c *localCenter) init(ctx context.Context, req lease.Request) error {
	for w := range req.Pool {
		req.First, req.Last = w, w
		g, err := c.Acquire(ctx, req)
		if err == nil {
			err = c.Release(ctx, g, g.Floor+w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *localCenter) Acquire(ctx context.Context, req lease.Request) (g lease.Grant, err error) {
	borrower := req
	borrower.Holder = ownerOf(req) // visible in Slots
	asked, err := c.withoutChance(ctx, borrower)
	if err != nil {
		return g, err
	}
	if way, ok := ctx.Value(passageKey{}).(*passage); ok && way.caller.Err() != nil {
		return g, way.caller.Err() // a caller waits for the disk, so no borrow outlives it
	}
	for _, r := range asked {
		if g, err = c.Center.Acquire(ctx, r); err == nil {
			g.Request = req
			break
		}
	}
	return g, err
}

// withoutChance lets the product choose, except where it chooses at random: among worker
// ids without a file, or with the same mark. There it asks for one after the other.
func (c *localCenter) withoutChance(ctx context.Context, req lease.Request) ([]lease.Request, error) {
	records, err := c.Extras().Lister.Slots(ctx, req.Namespace)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(records, func(a, b lease.Slot) int { return cmp.Compare(a.Mark, b.Mark) })
	var asked []lease.Request
	one := func(worker int64) {
		r := req
		r.First, r.Last = worker, worker
		asked = append(asked, r)
	}
	for w := range req.Pool {
		if !slices.ContainsFunc(records, func(s lease.Slot) bool { return s.Worker == w }) {
			one(w)
		}
	}
	if len(asked) == 0 && len(slices.CompactFunc(slices.Clone(records), func(a, b lease.Slot) bool { return a.Mark == b.Mark })) == len(records) {
		return []lease.Request{req}, nil
	}
	for _, s := range records {
		one(s.Worker)
	}
	return append(asked, req), nil // for the error
}
