package numbers

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowlease/snowlease/internal/bounded"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/hostclock"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/lease"
)

// A Series issues numbers. It is safe for concurrent use.
type Series struct {
	plan
	store  numberstore.InTx
	name   string       // the name in the store; a dot and the scope follow
	copies atomic.Int64 // the number of calls of Reset

	mu     sync.Mutex
	status Status    // as of the last call of the store
	failed time.Time // when the store last failed
}

// NewSeries returns the series of cfg. It does not contact the store. The Series issues no numbers
// before Start. Errors: those of SeriesConfig.Validate, and one for a store that is not in a
// database.
func NewSeries(store Store, cfg SeriesConfig) (*Series, error) {
	p, err := cfg.parse()
	if err != nil {
		return nil, err
	}
	db, ok := store.(numberstore.InTx)
	if !ok {
		return nil, fmt.Errorf("series %s: %T is no database: give Numbers of a dbseq.Center", cfg.Name, store)
	}
	name := numberstore.Key(cfg.Namespace, cfg.Name)
	status := Status{State: StateNotStarted, Name: name, Strict: true, Store: nameOf(store), Max: math.MaxInt64, Step: 1}
	return &Series{plan: p, store: db, name: name, status: status}, nil
}

// OpenSeries calls NewSeries and Start, and returns a Series that has started. Errors are those
// of NewSeries and Start.
func OpenSeries(ctx context.Context, store Store, cfg SeriesConfig) (*Series, error) {
	s, err := NewSeries(store, cfg)
	if err != nil {
		return nil, err
	}
	if err := s.Start(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Start contacts the store and creates its table if necessary. The error wraps lease.ErrSetup if
// processes with another Period, Zone, YearStarts or Start use the series: a number of one would end
// the numbers of the others, or leave a gap in them; or if a segment has the name of a scope. Like all calls of a Series, Start times out
// after a minute if ctx has no deadline.
func (s *Series) Start(ctx context.Context) error {
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	if err := s.agree(ctx); err != nil {
		return s.wrap(err)
	}
	s.become(StateReady)
	return nil
}

// agree returns an error unless the periods and the start on record are those of s. The first
// process records them.
func (s *Series) agree(ctx context.Context) error {
	c, h, zone := s.cfg, fnv.New64a(), s.cfg.Zone
	if c.Period == none {
		zone = "" // has no meaning
	}
	fmt.Fprintf(h, "%s %s %s %d", c.Period, zone, c.YearStarts, c.Start)
	own, row := int64(h.Sum64()>>2), numberstore.Periods+c.Namespace+"."+c.Name // own+1 is an int64, too
	recorded, err := s.store.HighWater(ctx, row)
	if errors.Is(err, ErrUnknown) {
		if recorded, err = own, s.unused(ctx); err == nil {
			err = s.store.Create(ctx, row, own+1)
		}
		if errors.Is(err, ErrExists) {
			recorded, err = s.store.HighWater(ctx, row)
		}
	}
	if err == nil && recorded != own {
		err = fmt.Errorf("processes with another period, zone, year_starts or start use it, this one has period %s, zone %s, year_starts %s, start %d: use the same, give the series another name, or, to change them for all, stop all processes and delete the row %q of the table snowlease_segment: %w",
			c.Period, c.Zone, c.YearStarts, c.Start, row, lease.ErrSetup)
	}
	return err
}

// unused returns an error if a scope has numbers without a period, such as those of a segment: they
// would end with the first number of a period.
func (s *Series) unused(ctx context.Context) error {
	return s.store.Names(ctx, s.name+".", func(name string, given int64) error {
		if s.cfg.Period != none && given/perPeriod < 1000_01_01 && word(name[len(s.name)+1:], maxScope) {
			return fmt.Errorf("%q has numbers without a period, which the first number of a period would end: give the series another name or, if no segment and no other process uses them, delete the row %[1]q of the table snowlease_segment: %w", name, lease.ErrSetup)
		}
		return nil
	})
}

// Close ends the series, until another Start: calls return ErrClosed. It does no I/O and always
// returns nil.
func (s *Series) Close() error {
	s.become(StateClosed)
	return nil
}

func (s *Series) become(state State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.State = state
}

// Tx is a transaction of database/sql: a *sql.Tx, a *sqlx.Tx, the field Tx of a bun.Tx (a bun.Tx
// itself rewrites statements), or the result of gormdb.Tx.
type Tx = numberstore.Tx

// ErrTransaction is returned by NextTx without SeriesConfig.Gapless, and by Next and Fill with it.
var ErrTransaction = numberstore.ErrTransaction

// NextTx returns the next number of a scope in a transaction. It requires SeriesConfig.Gapless. A
// rollback takes the number back. Scopes and errors are those of Next.
//
// The transaction must be on the database of the store. After an error, roll it back. NextTx can
// fail with a serialization failure: run the transaction again. On PostgreSQL with REPEATABLE READ
// or SERIALIZABLE, it fails if the transaction had to wait for another one that took a number of
// the scope, or if it read before others took one. On MariaDB with innodb_snapshot_isolation, it
// fails after an earlier read with REPEATABLE READ, and also after a wait with SERIALIZABLE.
func (s *Series) NextTx(ctx context.Context, tx Tx, scope string) (Number, error) {
	if !s.cfg.Gapless {
		return Number{}, fmt.Errorf("%w: series %q is not gapless, so a rollback does not take its numbers back: call Next, or set gapless", ErrTransaction, s.name)
	}
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	if err := s.ready(scope); err != nil {
		return Number{}, s.wrap(err)
	}
	got, err := s.reserve(ctx, s.store.In(tx), scope, s.current(ctx), 1)
	if err != nil {
		return Number{}, s.wrap(err)
	}
	s.count(1)
	return s.number(scope, got.First), nil
}

// Next returns the next number of a scope, such as a tenant. A scope has up to 36 characters of
// A-Z a-z 0-9 _ -; it is "" if there is only one.
//
// Errors: ErrScope, ErrTransaction, ErrEnd, ErrClock, snowlease.ErrNotStarted, ErrClosed and
// errors of the store.
func (s *Series) Next(ctx context.Context, scope string) (Number, error) {
	var one [1]Number
	err := s.Fill(ctx, scope, one[:])
	return one[0], err
}

// Fill fills dst with the next numbers of a scope, in ascending order. It makes one request for
// each contiguous range. Errors are those of Next. On error, dst is zeroed, and the numbers taken
// for it are a gap.
func (s *Series) Fill(ctx context.Context, scope string, dst []Number) error {
	err := s.fill(ctx, scope, dst)
	if err != nil {
		clear(dst)
		return s.wrap(err)
	}
	s.count(len(dst))
	return nil
}

func (s *Series) fill(ctx context.Context, scope string, dst []Number) error {
	if s.cfg.Gapless {
		return fmt.Errorf("%w: series %q is gapless: call NextTx", ErrTransaction, s.name)
	}
	if err := s.ready(scope); err != nil || len(dst) == 0 {
		return err
	}
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	copies, period := s.copies.Load(), s.current(ctx)
	for rest := dst; len(rest) > 0; {
		got, err := s.reserve(ctx, s.store, scope, period, int64(len(rest)))
		if err != nil {
			return err
		}
		if now := s.copies.Load(); now != copies {
			rest, copies, period = dst, now, s.current(ctx)
			continue
		}
		for i := range got.Len() {
			rest[i] = s.number(scope, got.First+i)
		}
		rest = rest[got.Len():]
	}
	return nil
}

// ready returns the reason why no number of a scope can be requested, or nil.
func (s *Series) ready(scope string) error {
	switch s.Status().State {
	case StateClosed:
		return ErrClosed
	case StateNotStarted:
		return generator.ErrNotStarted
	}
	if !word(scope, maxScope) {
		return fmt.Errorf("%w: %.60q is not up to %d characters of A-Z a-z 0-9 _ -", ErrScope, scope, maxScope)
	}
	return nil
}

// number returns the Number for a number in the store.
func (s *Series) number(scope string, n int64) Number {
	return s.text.print(Number{Period: beginOf(n), Scope: scope, Value: n % perPeriod})
}

// reserve reserves numbers of a period, or of a later period if the scope is already in it.
func (s *Series) reserve(ctx context.Context, store numberstore.Reader, scope string, period time.Time, n int64) (numberstore.Range, error) {
	r, began := s.request(scope, period, n), time.Now()
	got, err := store.Reserve(ctx, r)
	s.answered(began, err)
	if !errors.Is(err, ErrEnd) {
		return got, err
	}
	given, lookErr := store.HighWater(ctx, r.Name)
	if lookErr != nil {
		return got, lookErr
	}
	later := beginOf(given)
	switch {
	case !later.After(period):
		return got, err
	case s.cfg.Period == none || !s.begin(later).Equal(later):
		return got, fmt.Errorf("%w: the row of %q has %d, which does not fit period %s: correct the row, or give the series another name if its period changed", ErrEnd, r.Name, given, s.cfg.Period)
	}
	began = time.Now()
	got, err = store.Reserve(ctx, s.request(scope, later, n))
	if errors.Is(err, ErrClock) { // an error of one scope's record
		return got, fmt.Errorf("%w: the row of %q is in a period that has not begun, after %d: correct the row, or wait until the period begins", ErrClock, r.Name, base(later))
	}
	s.answered(began, err)
	return got, err
}

// current returns the beginning of the current period by the clock of this host.
func (s *Series) current(ctx context.Context) time.Time {
	return s.begin(hostclock.Now(ctx).In(s.zone))
}

func (s *Series) request(scope string, period time.Time, n int64) numberstore.Request {
	from := base(period)
	r := numberstore.Request{
		Name:   s.key(scope),
		N:      n,
		Above:  from + s.cfg.Start - 1,
		Max:    from + s.cfg.Max,
		Start:  from + s.cfg.Start,
		Create: true,
	}
	if s.cfg.Period != none {
		r.NotBefore = max(1, midnight(period, s.zone).Add(-lease.MaxClockError).UnixMilli())
		r.NotAfter = max(1, midnight(s.cfg.Period.after(period), s.zone).Add(lease.MaxClockError).UnixMilli())
	}
	return r
}

// Reset makes calls in progress query the store again, unless the series is gapless. It is for a
// process that may have been copied with its memory, such as a virtual machine restored from a
// snapshot: the copies may hold the same numbers. Call it after the copy resumes and before it
// requests a number.
func (s *Series) Reset() { s.copies.Add(1) }

// key returns the name of a scope in the store.
func (s *Series) key(scope string) string { return s.name + "." + scope }

func (s *Series) wrap(err error) error {
	if err == nil || errors.Is(err, ErrScope) || errors.Is(err, ErrTransaction) {
		return err
	}
	return fmt.Errorf("series %q: %w", s.name, err)
}
