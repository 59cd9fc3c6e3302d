// Package history makes ids for times past: for rows that come from an archive, an
// import or another system and have to sort where they belong.
//
//	past, err := history.New(history.Config{Namespace: "orders", Layout: layout, Reserved: 1}, store)
//	id, err := past.NextIDAt(ctx, order.CreatedAt)
//
// Such ids carry worker ids that no live process is ever given: the greatest Reserved
// ones of the layout, which idworker.Config.Reserved keeps out of the pool. So they
// never equal an id that was issued at that time, or will be.
//
// They are unique across processes and runs, because the store counts them: per
// namespace and second (Config.Every) it has a number of ids made so far, and each
// call takes the next ones in one atomic step. The store must not lose what it has
// acknowledged: a database, not a cache. It gets one small row for each second of the past that
// ids were made for. Each call is one round trip; NextIDsAt makes many ids in one.
//
// A second has Reserved * 2^SequenceBits ids, whatever part of it they are for: with
// the default layout and one reserved worker id 131,072. After that, ErrFull.
package history

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/snowlease/snowlease/idworker/segment"
	"github.com/snowlease/snowlease/idworker/snowflake"
)

var (
	// ErrFull is returned when a second has no id left.
	ErrFull = errors.New("history: no id is left for that time")
	// ErrTime is returned for a time that is no past time of the layout.
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
	// ids of one. It must never change. Default: 1s, or the time unit if that is longer.
	Every time.Duration
}

// An Issuer makes ids for times past. It keeps no state and is safe for concurrent
// use, by any number of processes.
type Issuer struct {
	cfg   Config
	store segment.Store
	now   func() time.Time
}

// New returns an issuer that counts in store, which stays the caller's to close. It
// reports every fault of cfg.
func New(cfg Config, store segment.Store) (*Issuer, error) {
	cfg.Layout = cfg.Layout.WithDefaults()
	if cfg.Every == 0 {
		cfg.Every = max(time.Second, cfg.Layout.TimeUnit)
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
	if n := int64(1) << cfg.Layout.BusinessBits; cfg.Business < 0 || cfg.Business >= n {
		fault("business %d is not 0 to %d, which the layout's %d business bits hold", cfg.Business, n-1, cfg.Layout.BusinessBits)
	}
	if cfg.Every < cfg.Layout.TimeUnit || cfg.Layout.TimeUnit > 0 && cfg.Every%cfg.Layout.TimeUnit != 0 {
		fault("every %v is not a whole number of the layout's time units of %v", cfg.Every, cfg.Layout.TimeUnit)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("history: config: %w", err)
	}
	return &Issuer{cfg: cfg, store: store, now: time.Now}, nil
}

// PerSpan returns how many ids there are for each span of Config.Every.
func (i *Issuer) PerSpan() int64 { return i.cfg.Reserved * i.cfg.Layout.PerTick() }

// NextIDAt returns an id whose time is at, or the tick of the layout that holds it.
// Ids for one time rise from call to call.
//
// Errors: ErrTime for a time before the layout's epoch or after now, ErrFull, and
// those of the store. The id is then 0.
func (i *Issuer) NextIDAt(ctx context.Context, at time.Time) (int64, error) {
	var dst [1]int64
	err := i.NextIDsAt(ctx, at, dst[:])
	return dst[0], err
}

// NextIDsAt fills dst with ids for one time, by one reservation. On an error dst is
// all zero; ids that were reserved are never issued.
func (i *Issuer) NextIDsAt(ctx context.Context, at time.Time, dst []int64) error {
	if len(dst) == 0 {
		return nil
	}
	if err := i.fill(ctx, at, dst); err != nil {
		clear(dst)
		return err
	}
	return nil
}

func (i *Issuer) fill(ctx context.Context, at time.Time, dst []int64) error {
	l := i.cfg.Layout
	if now := i.now(); at.UnixMilli() < l.Epoch || at.After(now) {
		return fmt.Errorf("%w: %s is not from the layout's epoch %s to now (%s)", ErrTime, stamp(at), stamp(time.UnixMilli(l.Epoch)), stamp(now))
	}
	span := (at.UnixMilli() - l.Epoch) / i.cfg.Every.Milliseconds()
	name := i.cfg.Namespace + "." + strconv.FormatInt(span, 36)
	var after int64 // the greatest number taken by this call
	for rest := dst; len(rest) > 0; {
		r, err := segment.Reserve(ctx, i.store, segment.Request{
			Name: name, N: min(int64(len(rest)), segment.MaxReservation), Above: after, Max: i.PerSpan(), Start: 1, Create: true,
		})
		switch {
		case errors.Is(err, segment.ErrEnd):
			return fmt.Errorf("%w: the %d ids of the %v around %s are used up, or fewer than %d are left: give times that are further apart, or reserve more worker ids: %w",
				ErrFull, i.PerSpan(), i.cfg.Every, stamp(at), len(rest), err)
		case err != nil:
			return fmt.Errorf("history: reserve ids of %q for %s: %w", i.cfg.Namespace, stamp(at), err)
		}
		for n := r.First; n <= r.Last; n++ {
			worker := l.Workers() - i.cfg.Reserved + (n-1)/l.PerTick()
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
