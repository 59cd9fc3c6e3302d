// Package history makes ids for times past: for late events, and for rows that come from
// an archive, an import or another system and have to sort where they belong.
//
//	past, err := history.New(history.Config{Namespace: "orders", Layout: layout, Reserved: 1}, store)
//	id, err := past.NextIDAt(ctx, event.Time)
//	id, err = past.Backfill(founded).NextIDAt(ctx, row.CreatedAt)
//
// Such ids carry worker ids that no live process is ever given: the greatest Reserved
// ones of the layout, which idworker.Config.Reserved keeps out of the pool. They are
// unique across processes and runs, because the store counts them: per layout and span of
// time (Config.Every) it has the number of ids made so far, and each call takes the next
// ones in one atomic step. All namespaces of a store that have one layout share the
// counters, so that they go along to a new namespace. The store must not lose what it has
// acknowledged: a database, not a cache.
//
// # Which times
//
// A store cannot tell what other namespaces and stores did before it was asked the first
// time. So there are two kinds of times.
//
//   - From Since on: no live process has the reserved worker ids, and nothing else counts.
//     The first process that asks writes Since into the store, some minutes ahead.
//   - Before Since: a live process may have had these worker ids, or another store may have
//     counted. Backfill takes the caller's word for a time before which neither was so.
//     Other times are an ErrTime.
//
// A change of the namespace, of Reserved, of the layout or of the store begins a new
// Since. Before it begins, whoever used the reserved worker ids before must have stopped:
// docs/upgrade.md and docs/growing.md in the repository have the steps.
//
// # Rates
//
// Each call is one round trip; NextIDsAt makes many ids in one. A span has Reserved *
// 2^SequenceBits ids, whatever part of it they are for, and one row in the store. By
// default it is a second, or as much less as gives 8,192 ids a second for each reserved
// worker id: 131,072 in the second of the default layout, 4,096 in 500 ms of wide, 64 in
// 7 ms of yitter and jssafe. After that, ErrFull.
package history

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/snowlease/snowlease/segment"
	"github.com/snowlease/snowlease/snowflake"
)

var (
	// ErrFull is returned when a span has no id left.
	ErrFull = errors.New("history: no id is left for that time")
	// ErrTime is returned for a time that is no past time of the layout, or for which the
	// reserved worker ids may have made ids elsewhere.
	ErrTime = errors.New("history: the time cannot be used")
)

// MaxNamespace is the greatest length of a namespace here: the store's names are made
// of it.
const MaxNamespace = 48

// Config is the configuration of an Issuer.
type Config struct {
	// Namespace is that of the worker ids, 1 to MaxNamespace characters of
	// A-Z a-z 0-9 . _ -
	Namespace string
	// Layout is that of the live ids.
	Layout snowflake.Layout
	// Reserved is how many of the greatest worker ids are for times past, 1 to all but
	// one. All processes of the namespace must keep as many out of their pool.
	Reserved int64
	// Business is the business number that ids carry, 0 to 2^BusinessBits - 1 of the
	// layout. Issuers of different ones share the ids of a span. Default: 0.
	Business int64
	// Every is the span of time that one number in the store counts for, a whole
	// number of the layout's time units: a longer one makes fewer rows and has the
	// ids of one. All processes must have the same. Default: 1s, or the part of it that
	// gives 8,192 ids a second for each reserved worker id, at least a time unit.
	Every time.Duration
	// Ahead is how far Since lies ahead of this host's clock when the first process asks:
	// as far as clocks, and ids of live processes, may be ahead of it. Default: 15m.
	Ahead time.Duration
}

// perSecond is how many ids a second of the past has by default, at least, for each
// reserved worker id.
const perSecond = 8192

// DefaultAhead is the default of Config.Ahead. It covers leases of up to 5 min, and two
// clocks that a center of leases puts up with, 5 min off each.
const DefaultAhead = 15 * time.Minute

// An Issuer makes ids for times past. It is safe for concurrent use, by any number of
// processes.
type Issuer struct {
	cfg    Config
	store  segment.Store
	now    func() time.Time
	name   string // of the counters, less the number of the span
	before int64  // times before it are the caller's word
	since  *since // shared with what Backfill and For return
}

type since struct {
	name string
	ms   atomic.Int64 // 0: not known yet
}

// New returns an issuer that counts in store, which stays the caller's to close. It
// reports every fault of cfg.
func New(cfg Config, store segment.Store) (*Issuer, error) {
	cfg.Layout = cfg.Layout.WithDefaults()
	if cfg.Every == 0 && cfg.Layout.TimeUnit > 0 {
		short := time.Second * time.Duration(min(cfg.Layout.PerTick(), perSecond)) / perSecond
		cfg.Every = max(short.Truncate(cfg.Layout.TimeUnit), cfg.Layout.TimeUnit)
	}
	if cfg.Ahead == 0 {
		cfg.Ahead = DefaultAhead
	}
	errs := []error{cfg.Layout.Validate()}
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if store == nil {
		fault("the store is nil: give dbseq.NewSegments(db)")
	}
	if err := segment.CheckName(cfg.Namespace); err != nil || len(cfg.Namespace) > MaxNamespace {
		fault("namespace %q is not 1 to %d characters of A-Z a-z 0-9 . _ -", cfg.Namespace, MaxNamespace)
	}
	if n := cfg.Layout.Workers(); cfg.Reserved < 1 || cfg.Reserved >= n {
		fault("reserved %d is not 1 to %d, all worker ids of the layout but one", cfg.Reserved, n-1)
	}
	errs = append(errs, cfg.checkBusiness())
	if cfg.Every < cfg.Layout.TimeUnit || cfg.Layout.TimeUnit > 0 && cfg.Every%cfg.Layout.TimeUnit != 0 {
		fault("every %v is not a whole number of the layout's time units of %v", cfg.Every, cfg.Layout.TimeUnit)
	}
	if cfg.Ahead < 0 {
		fault("ahead %v is negative", cfg.Ahead)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("history: config: %w", err)
	}
	counting := fmt.Sprint(cfg.Layout, cfg.Every.Milliseconds())
	return &Issuer{
		cfg: cfg, store: store, now: time.Now, name: "past." + short(counting) + ".",
		since: &since{name: "since." + short(fmt.Sprint(counting, cfg.Reserved)) + "." + cfg.Namespace},
	}, nil
}

// short keeps the names of the store within segment.MaxName. What agrees by chance is
// counted together, which does no harm.
func short(text string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // never an error
	return strconv.FormatUint(uint64(h.Sum32()), 36)
}

func (c Config) checkBusiness() error {
	if n := int64(1) << c.Layout.BusinessBits; c.Business < 0 || c.Business >= n {
		return fmt.Errorf("business %d is not 0 to %d, which the layout's %d business bits hold", c.Business, n-1, c.Layout.BusinessBits)
	}
	return nil
}

// For returns an issuer of ids with another business number.
func (i *Issuer) For(business int64) (*Issuer, error) {
	other := *i
	other.cfg.Business = business
	if err := other.cfg.checkBusiness(); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	return &other, nil
}

// Backfill returns an issuer that also takes times before a time of which the caller
// knows: of no tick before it is there an id with a reserved worker id, but those that this
// store has counted for the same layout. That holds of the time of the service's first id.
// If the worker ids were reserved at the service's first start, it holds of any time. After
// a move to another store it holds only if the counters were copied, and after a restored
// backup only of times before those that ids were made for since.
func (i *Issuer) Backfill(before time.Time) *Issuer {
	other := *i
	other.before = before.UnixMilli()
	return &other
}

// Since returns the time from which on ids need no Backfill. The first call of all
// processes writes it into the store, Config.Ahead from now; a service calls it when it
// starts. Later calls of this process need no store.
func (i *Issuer) Since(ctx context.Context) (time.Time, error) {
	if ms := i.since.ms.Load(); ms != 0 {
		return time.UnixMilli(ms), nil
	}
	// A store tells a number only by giving the next one: each process is a millisecond
	// more careful than the one before.
	from := i.now().Add(i.cfg.Ahead).UnixMilli()
	r, err := segment.Reserve(ctx, i.store, segment.Request{Name: i.since.name, N: 1, Start: from, Max: math.MaxInt64, Create: true})
	if err != nil {
		return time.Time{}, fmt.Errorf("history: learn since when ids of %q are counted: %w", i.cfg.Namespace, err)
	}
	i.since.ms.Store(r.First)
	return time.UnixMilli(r.First), nil
}

// PerSpan returns how many ids there are for each span of Config.Every.
func (i *Issuer) PerSpan() int64 { return i.cfg.Reserved * i.cfg.Layout.PerTick() }

// NextIDAt returns an id whose time is at, or the tick of the layout that holds it. Ids
// for one time rise from call to call as long as their worker id is the same.
//
// Errors: ErrTime for a time before the layout's epoch, after now, or before Since
// without Backfill; ErrFull; those of the store. The id is then 0.
func (i *Issuer) NextIDAt(ctx context.Context, at time.Time) (int64, error) {
	var dst [1]int64
	err := i.NextIDsAt(ctx, at, dst[:])
	return dst[0], err
}

// NextIDsAt fills dst with rising ids for one time, by one reservation. On an error dst
// is all zero; ids that were reserved are never issued.
func (i *Issuer) NextIDsAt(ctx context.Context, at time.Time, dst []int64) error {
	if len(dst) == 0 {
		return nil
	}
	if err := i.fill(ctx, at, dst); err != nil {
		clear(dst)
		return err
	}
	slices.Sort(dst)
	return nil
}

func (i *Issuer) fill(ctx context.Context, at time.Time, dst []int64) error {
	l := i.cfg.Layout
	if now := i.now(); at.UnixMilli() < l.Epoch || at.After(now) {
		return fmt.Errorf("%w: %s is not from the layout's epoch %s to now (%s)", ErrTime, stamp(at), stamp(time.UnixMilli(l.Epoch)), stamp(now))
	}
	tick := at.UnixMilli() - (at.UnixMilli()-l.Epoch)%l.TimeUnit.Milliseconds()
	if tick+l.TimeUnit.Milliseconds() > i.before { // not all of it is the caller's word
		since, err := i.Since(ctx)
		if err != nil {
			return err
		}
		if tick < since.UnixMilli() {
			return fmt.Errorf("%w: at %s a live process may have had the %d greatest worker ids, or another database may have counted: for %q this one counts from %s on; for rows that are older than the service's first id use Backfill with the time of that id",
				ErrTime, stamp(at), i.cfg.Reserved, i.cfg.Namespace, stamp(since))
		}
	}
	span := (at.UnixMilli() - l.Epoch) / i.cfg.Every.Milliseconds()
	name := i.name + strconv.FormatInt(span, 36)
	var after int64 // the greatest number taken by this call
	for rest := dst; len(rest) > 0; {
		r, err := segment.Reserve(ctx, i.store, segment.Request{
			Name: name, N: min(int64(len(rest)), segment.MaxReservation), Above: after, Max: i.PerSpan(), Start: 1, Create: true,
		})
		switch {
		case errors.Is(err, segment.ErrEnd):
			return fmt.Errorf("%w: the %d ids of the %v from %s are used up, or fewer than %d are left: spread the rows over more of the time around it, or reserve more worker ids by a new namespace (docs/upgrade.md), which has ids for times before the service's first id and from its own start on: %w",
				ErrFull, i.PerSpan(), i.cfg.Every, stamp(time.UnixMilli(l.Epoch+span*i.cfg.Every.Milliseconds())), len(rest), err)
		case err != nil:
			return fmt.Errorf("history: reserve ids of %q for %s: %w", i.cfg.Namespace, stamp(at), err)
		}
		for n := r.First; n <= r.Last; n++ {
			worker := l.Workers() - 1 - (n-1)/l.PerTick() // from the top: more reserved ones leave what was counted as it is
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
