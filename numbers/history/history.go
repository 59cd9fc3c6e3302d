// Package history issues backdated ids, which carry times of the past. They are for late
// events, and for rows from an archive, an import or another system that must sort by their
// original time.
//
//	past, err := history.New(worker, center.Numbers(), history.Config{})
//	id, err := past.NextIDAt(ctx, event.Time)
//	id, err = past.Backfill(founded).NextIDAt(ctx, row.CreatedAt)
//
// These ids carry worker ids that no live process holds: the greatest worker ids of the layout,
// which Reserved of snowlease.Config keeps out of the pool. The store makes the ids unique across
// processes and runs. It counts the ids issued so far, per layout and span of time, and each call
// takes the next ids in one atomic step. All namespaces of a store with the same layout share the
// counters, so a service may change its namespace. If the counters are lost, or replaced by those of
// before its start, and the record of Since too, a running Issuer makes no more ids: its calls fail
// with numbers.ErrUnknown until it restarts, or until others have repeated the starts that the backup
// lacks. An asynchronous failover that loses the last writes is undetected: use a durable database.
//
// # Which times
//
// Before its first use, a store has no record of the ids of other namespaces and stores. So
// there are two kinds of times:
//
//   - From Since on, no live process has the reserved worker ids and no other store counts. The
//     first process to need Since writes it into the store, some minutes ahead of its clock.
//   - Before Since, a live process may have had these worker ids, or another store may have
//     counted. Backfill allows times before a given time, if the caller guarantees that neither
//     happened before it. Other times are an ErrTime.
//
// A change of the namespace, of Reserved, of the layout or of the store begins a new Since. Before that time, every process that used the reserved worker ids under the old
// settings must have stopped. Do not come back to former settings: their Since is still on record,
// and their counters know nothing of ids issued since. The steps are in docs/upgrade.md in the
// repository.
//
// # Rates
//
// Each call is one round trip; NextIDsAt issues many ids in one round trip. A span has Reserved
// * 2^SequenceBits ids for all of its ticks together, and one row in the store. A span is one
// second. If a tick has fewer than 8,192 ids, a span is shorter, so that each reserved worker
// id has at least 8,192 ids per second of the past: 131,072 in one second of the default
// layout, 4,096 in 500 ms of wide, 64 in 7 ms of yitter and jssafe. A span is never shorter
// than a tick. When too few ids of a span are left, calls fail with ErrFull.
package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/snowflake"
)

var (
	// ErrFull is returned if a span has too few ids left.
	ErrFull = errors.New("history: no id is left for that time")
	// ErrTime is returned for a time before the layout's epoch or after now, and for a time at
	// which the reserved worker ids may have been used elsewhere.
	ErrTime = errors.New("history: the time cannot be used")
)

// Config configures an Issuer. The zero Config has all defaults.
type Config struct {
	// Ahead is how far Since lies ahead of the clock of the process that writes it. It must
	// cover how far the clocks of other hosts and the ids of live processes may be ahead. At
	// most 72h. Default: 15m.
	Ahead time.Duration
}

// setup is a Config with the settings of the worker.
type setup struct {
	Config
	Namespace          string
	Layout             snowflake.Layout
	Reserved, Business int64
	Last               int64                           // the greatest worker id that the process may borrow
	Every              time.Duration                   // the span of a counter, a whole number of ticks; 0: the default
	Ready              func() (until int64, err error) // their latest time in Unix ms; an error while no ids may be issued
}

// perSecond is the minimum of ids per second of the past for each reserved worker id.
const perSecond = 8192

// defaultAhead is the default of Config.Ahead. It covers leases of up to 5 min, and two clocks
// that are 5 min off each, which is the most that a center accepts.
const defaultAhead = 15 * time.Minute

// An Issuer issues backdated ids. It is safe for concurrent use, and any number of processes
// may have one.
type Issuer struct {
	cfg    setup
	store  numbers.Store
	now    func() time.Time
	name   string // prefix of the counter names; the span number follows, in three parts
	root   string // prefix of the names that count those whose first part is the same
	before int64  // the time given to Backfill, Unix ms
	since  *since // shared with the issuers that Backfill and For return
}

// since is the record of Since: its Unix milliseconds times readers, plus the number of earlier
// readers. A lost record never has its value again, a restored one after as many new readers.
type since struct {
	heads string // prefix of the names of all namespaces that share the counters
	name  string
	own   atomic.Int64 // the number that the store gave this Issuer, or 0
}

// readers is how many Issuers may read Since while another one runs. The value allows for times
// until 2248.
const readers = 1 << 20

// New returns an Issuer that counts in store, for the namespace, the layout and the reserved worker
// ids of w. It issues ids from when w has borrowed a worker id, even if w loses it later, until w
// is closed. By then, the center has pinned a pool without the reserved worker ids, and has found
// the clock of this host near its own. Before that, calls for ids return the error of w. Times after
// the end of w's last lease are an ErrTime, because others may have taken over the reserved worker
// ids. The caller closes the worker and the store.
//
// The error of New contains all faults of cfg. It is also an error if Workers of w's Config leaves
// out the reserved worker ids, which another store may count. A range that ends right before them,
// such as 0-30 of 32, looks to New like one that contains them: do not call it then.
func New(w *snowlease.Worker, store numbers.Store, cfg Config) (*Issuer, error) {
	if w == nil {
		return nil, errors.New("history: the worker is nil")
	}
	st := w.Status()
	return newIssuer(store, setup{cfg, st.Namespace, w.Layout(), w.Layout().Workers() - st.Pool.Size, st.Business, st.Pool.Last, 0, func() (int64, error) { return lent(w) }})
}

// lent returns the end of the last lease, or an error until the center has lent the first worker id,
// and after Close.
func lent(w *snowlease.Worker) (until int64, err error) {
	st := w.Status()
	if st.Token != 0 && st.State != snowlease.StateStopped {
		return st.Ceiling.UnixMilli(), nil
	}
	return 0, cmp.Or(w.Healthy(), snowlease.ErrNotStarted)
}

func newIssuer(store numbers.Store, cfg setup) (*Issuer, error) {
	l := cfg.Layout
	span := time.Second * time.Duration(min(l.PerTick(), perSecond)) / perSecond
	cfg.Ahead, cfg.Every = cmp.Or(cfg.Ahead, defaultAhead), cmp.Or(cfg.Every, max(span.Truncate(l.TimeUnit), l.TimeUnit))
	f := fault.Texts{In: "history: "}
	f.Check(fault.Nil(store), "the store is nil: give one, such as Numbers of a dbseq.Center")
	f.Check(cfg.Reserved < 1, "the worker reserves no worker ids: set Reserved in its Config")
	top := cfg.Layout.Workers() - 1
	f.Check(cfg.Last < top-cfg.Reserved, "the worker's range of worker ids ends at %d and leaves out the reserved ones, which another store may count: if this one counts them, let Workers of its Config end at %d", cfg.Last, top)
	f.Check(cfg.Ahead < 0 || cfg.Ahead > maxAhead, "ahead %v is not 0 to %v", cfg.Ahead, maxAhead)
	if err := f.Err(); err != nil {
		return nil, err
	}
	h := fnv.New32a() // keeps names short; layouts with equal hashes share counters, which does no harm
	fmt.Fprint(h, cfg.Layout, cfg.Every.Milliseconds())
	counting := strconv.FormatUint(uint64(h.Sum32()), 36) + "."
	heads := numberstore.Key("", "since."+counting)
	return &Issuer{
		cfg: cfg, store: store, now: time.Now, name: numberstore.Key("", "past."+counting), root: numberstore.Key("", "count.count.past."+counting),
		since: &since{heads: heads, name: heads + strconv.FormatInt(cfg.Reserved, 10) + "." + cfg.Namespace},
	}, nil
}

// For returns an Issuer like i for another business number.
func (i *Issuer) For(business int64) (*Issuer, error) {
	bits := i.cfg.Layout.BusinessBits
	if n := int64(1) << bits; business < 0 || business >= n {
		return nil, fmt.Errorf("history: business %d is not 0 to %d, the values of the layout's %d business bits", business, n-1, bits)
	}
	other := *i
	other.cfg.Business = business
	return &other, nil
}

// Backfill returns an Issuer that also accepts times before a given time. The caller guarantees
// that no tick before that time has an id with a reserved worker id, except ids that this store
// has counted for the same layout.
//
// This is true
//
//   - for the time of the first id of the service;
//   - for any time, if the worker ids were reserved when the service first started;
//   - after a move to another store, only if the counters were copied;
//   - after a backup was restored, only for times before the earliest time for which an id was
//     issued since the backup;
//   - after the counters were lost, only for times before the earliest time for which an id was
//     issued.
func (i *Issuer) Backfill(before time.Time) *Issuer {
	other := *i
	other.before = before.UnixMilli()
	return &other
}

// Since returns the time from which ids need no Backfill. The first call of all processes
// writes it into the store: the clock of this host plus Config.Ahead, or numbers.ErrClock if the
// clock is more than 5 minutes off that of the store. Call it when a service starts. Later calls of
// this Issuer do not contact the store.
func (i *Issuer) Since(ctx context.Context) (time.Time, error) {
	own, err := i.own(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(own / readers), nil
}

// maxAhead is the maximum of Config.Ahead. clockFault is how far the clock of the process that
// wrote Since may have been ahead of this process's clock.
const maxAhead, clockFault = 72 * time.Hour, 36 * time.Hour

func (i *Issuer) own(ctx context.Context) (int64, error) {
	if own := i.since.own.Load(); own != 0 {
		return own, nil
	}
	// A store reveals a number only by reserving the next one.
	now := i.now()
	from := now.Add(i.cfg.Ahead).UnixMilli()
	r, err := i.store.Reserve(ctx, numberstore.Request{
		Name: i.since.name, N: 1, Start: from * readers, Max: math.MaxInt64, Create: true, Family: i.root, Heads: i.since.heads,
		NotBefore: now.Add(-lease.MaxClockError).UnixMilli(), NotAfter: now.Add(lease.MaxClockError).UnixMilli(),
	})
	ended := errors.Is(err, numbers.ErrEnd)
	if err != nil && !ended {
		return 0, fmt.Errorf("history: read Since of namespace %q, the counter %q: %w; if it is damaged, follow docs/operations.md#backup-and-restore", i.cfg.Namespace, i.since.name, err)
	}
	if ended || r.First < max(i.cfg.Layout.TickTime(0).UnixMilli(), 1)*readers || r.First > now.Add(maxAhead+clockFault).UnixMilli()*readers {
		return 0, errors.Join(err, fmt.Errorf("history: %w: the counter %q of %q has reached %d, which no process wrote; follow docs/operations.md#backup-and-restore",
			lease.ErrDamaged, i.since.name, i.cfg.Namespace, r.First))
	}
	i.since.own.CompareAndSwap(0, r.First)
	return i.since.own.Load(), nil
}

// perSpan returns the number of ids in each span.
func (i *Issuer) perSpan() int64 { return i.cfg.Reserved * i.cfg.Layout.PerTick() }

// NextIDAt returns an id for the time at, rounded down to a tick of the layout. Ids for
// one time ascend from call to call while their worker id stays the same.
//
// Errors: ErrTime for a time before the epoch of the layout, after now or the end of the worker's
// last lease, or before Since without Backfill; ErrFull; numbers.ErrUnknown if the counters were
// lost; lease.ErrDamaged for a record of Since that no process wrote; numbers.ErrClock; the error
// of ctx; errors of the worker and of the store. The id is then 0.
func (i *Issuer) NextIDAt(ctx context.Context, at time.Time) (int64, error) {
	var dst [1]int64
	err := i.NextIDsAt(ctx, at, dst[:])
	return dst[0], err
}

// NextIDsAt fills dst with ascending ids for one time, with one reservation. Errors are those
// of NextIDAt. On error, dst is zeroed and the reserved ids are never issued.
func (i *Issuer) NextIDsAt(ctx context.Context, at time.Time, dst []int64) error {
	if len(dst) == 0 {
		return nil
	}
	until, err := i.cfg.Ready()
	if err == nil {
		err = i.fill(ctx, at, until, dst)
	}
	if err != nil {
		clear(dst)
		return err
	}
	slices.Sort(dst)
	return nil
}

func (i *Issuer) fill(ctx context.Context, at time.Time, until int64, dst []int64) error {
	l := i.cfg.Layout
	epoch := l.TickTime(0).UnixMilli()
	if now := i.now(); at.UnixMilli() < epoch || at.After(now) {
		return fmt.Errorf("%w: %s is not from the layout's epoch %s to now (%s)", ErrTime, stamp(at), stamp(time.UnixMilli(epoch)), stamp(now))
	}
	tick := at.UnixMilli() - (at.UnixMilli()-epoch)%l.TimeUnit.Milliseconds()
	if tick > until {
		return fmt.Errorf("%w: %s is after %s, when the last lease of this process ends: others may have the %d greatest worker ids then", ErrTime, stamp(at), stamp(time.UnixMilli(until)), i.cfg.Reserved)
	}
	own, err := i.own(ctx)
	if err != nil {
		return err
	}
	if tick+l.TimeUnit.Milliseconds() > i.before { // Backfill does not cover the whole tick
		if since := own / readers; tick < since {
			return fmt.Errorf("%w: at %s others may have used the %d greatest worker ids: %q counts here from %s on; use Backfill for older rows",
				ErrTime, stamp(at), i.cfg.Reserved, i.cfg.Namespace, stamp(time.UnixMilli(since)))
		}
	}
	span := (at.UnixMilli() - epoch) / i.cfg.Every.Milliseconds()
	family := i.name + strconv.FormatInt(span>>26, 36) + "." + strconv.FormatInt(span>>13&8191, 36) + "."
	name := family + strconv.FormatInt(span&8191, 36)
	var after int64 // the greatest number that this call reserved
	for rest := dst; len(rest) > 0; {
		r, err := i.store.Reserve(ctx, numberstore.Request{
			Name: name, N: min(int64(len(rest)), numberstore.MaxReservation), Above: after, Max: i.perSpan(), Start: 1, Create: true, Family: family, Root: i.root,
			Beside: i.since.name, Given: numberstore.Range{First: own, Last: own + readers - 1}, // the counters are those that Since belongs to
		})
		switch {
		case errors.Is(err, numbers.ErrEnd):
			return fmt.Errorf("%w: fewer than %d of %d ids of the %v from %s are left: spread rows over time, or reserve more in a new namespace: %w",
				ErrFull, len(dst), i.perSpan(), i.cfg.Every, stamp(time.UnixMilli(epoch+span*i.cfg.Every.Milliseconds())), err)
		case errors.Is(err, numbers.ErrUnknown):
			return fmt.Errorf("history: counters of %q were lost or replaced: follow docs/operations.md#backup-and-restore, and restart the process: %w", i.cfg.Namespace, err)
		case err != nil:
			return fmt.Errorf("history: reserve ids of %q for %s: %w", i.cfg.Namespace, stamp(at), err)
		}
		for n := r.First; n <= r.Last; n++ {
			worker := l.Workers() - 1 - (n-1)/l.PerTick() // from the top, so that raising Reserved keeps earlier counts valid
			id, err := l.Encode(snowflake.Parts{Time: at, Worker: worker, Business: i.cfg.Business, Sequence: (n - 1) % l.PerTick()})
			if err != nil {
				return fmt.Errorf("history: %w", err)
			}
			rest[n-r.First] = id
		}
		rest, after = rest[r.Len():], r.Last
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
