package simulate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// TestLocalLimits checks when the loss of the directory does no harm: nobody holds a
// worker id, the clock was not set back, and no crash has made ids run ahead of it.
func TestLocalLimits(t *testing.T) {
	restart := func(at time.Duration) Fault {
		return Fault{At: at, Kind: Restart, For: second / 5}
	}
	wipe := func(at time.Duration) Fault { return Fault{At: at, Kind: Wipe} }
	for _, test := range []struct {
		name   string
		unique bool
		faults []Fault
	}{
		{"gone while the host restarts", true, []Fault{restart(3 * second), wipe(3*second + second/10)}},
		{"gone, and the clock is set back", false, []Fault{
			restart(3 * second), wipe(3*second + second/10), {At: 3*second + second/10, Kind: StepCenter, By: -2 * second},
		}},
		{"gone while in use", false, []Fault{
			{At: 3 * second, Kind: Cut, Node: 0, For: 5 * second}, wipe(3 * second),
		}},
		// After a crash, ids begin above the ceiling and so ahead of the clock, which
		// has to catch up.
		{"gone after a crash", false, []Fault{
			restart(3 * second), restart(3*second + second/2), wipe(3*second + second*6/10),
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := Run(t, fair(2, 1, test.faults...), stores["local"])
			require.NoError(t, r.Err)
			require.Equal(t, test.unique, r.Broken[Duplicate] == 0, "%v", r.Violations)
		})
	}
}

// A disk is the center of one process and the directory.
type disk struct {
	lease.Center
	*Local
}

// onDisk is the product with some verbs replaced.
func onDisk(of func(disk) odd) WorkerIDs {
	return WorkerIDs{Store: NewLocal, Center: func(s Store, h *Host) (lease.Center, error) {
		c, err := s.Center(h)
		o := of(disk{c, s.(*Local)})
		o.Center = c
		return o, err
	}}
}

// before changes the file of each worker id before one is borrowed.
func (d disk) before(change func(path string) error) odd {
	return odd{acquire: func(ctx context.Context, req lease.Request) (lease.Grant, error) {
		paths, err := filepath.Glob(filepath.Join(d.Dir, "*.slot"))
		for _, path := range paths {
			err = errors.Join(err, change(path))
		}
		if err != nil {
			return lease.Grant{}, err
		}
		return d.Acquire(ctx, req)
	}}
}

// raised raises a grant's ceiling without writing to disk.
func (d disk) raised(g lease.Grant) lease.Grant {
	g.Now = max(g.Now, d.Now().UnixMilli())
	g.Ceiling = max(g.Ceiling, g.Now+g.TTL.Milliseconds())
	return g
}

// oldMarks restores a file that nobody holds to what it was when first seen.
func oldMarks(d disk) odd {
	return d.before(func(path string) error {
		old, err := os.ReadFile(path + ".first")
		if err != nil {
			if old, err = os.ReadFile(path); err == nil {
				err = os.WriteFile(path+".first", old, 0o600)
			}
			return err
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_, err = f.WriteAt(old, 0)
		}
		return errors.Join(err, f.Close())
	})
}

// noLock locks a file that others do not see, so no lock has any effect.
func noLock(d disk) odd {
	o := d.before(func(path string) error {
		record, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path+".copy", record, 0o600)
		}
		return errors.Join(err, os.Rename(path+".copy", path))
	})
	o.renew = func(ctx context.Context, g lease.Grant) (lease.Grant, error) {
		renewed, err := d.Renew(ctx, g)
		if errors.Is(err, lease.ErrLost) {
			return d.raised(g), nil
		}
		return renewed, err
	}
	return o
}

func damagedIsNew(d disk) odd {
	return d.before(func(path string) error {
		slots, err := d.Slots()
		if err != nil {
			return err
		}
		for w, s := range slots {
			if s.Damaged && filepath.Base(path) == fmt.Sprintf("sim.%d.slot", w) {
				return os.Remove(path)
			}
		}
		return nil
	})
}

// believed lets ids begin at the clock, whatever the mark is.
func believed(d disk) odd {
	return odd{acquire: func(ctx context.Context, req lease.Request) (lease.Grant, error) {
		g, err := d.Acquire(ctx, req)
		if now := d.Now().UnixMilli(); err == nil {
			g.Floor = min(g.Floor, now-1)
		}
		return g, err
	}}
}

// unwritten answers a renewal before it is on disk.
func unwritten(d disk) odd {
	return odd{renew: func(_ context.Context, g lease.Grant) (lease.Grant, error) { return d.raised(g), nil }}
}

// scattered is a host whose processes have a directory each.
type scattered struct {
	*Local
	others []Store
}

func newScattered() (Store, error) {
	l, err := NewLocal()
	if err != nil {
		return nil, err
	}
	return &scattered{Local: l.(*Local)}, nil
}

func (s *scattered) Center(h *Host) (lease.Center, error) {
	other, err := NewLocal()
	if err != nil {
		return nil, err
	}
	s.others = append(s.others, other)
	return other.Center(h)
}

func (s *scattered) Close() error {
	err := s.Local.Close()
	for _, other := range s.others {
		err = errors.Join(err, other.Close())
	}
	return err
}
