package numbers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/prefetch"
	"github.com/snowlease/snowlease/lease"
)

// answerTime bounds one reservation, in case the store hangs. Prefetched numbers usually last
// longer.
const answerTime = 5 * time.Second

// Segment issues the numbers of a name. All methods are safe for concurrent use.
//
// Next is one atomic add while numbers are prefetched. NextIDs fills a slice, for bulk inserts, and
// makes a Segment a snowflake.Source. Numbers ascend within a Segment; the package documentation
// states the other guarantees.
type Segment struct {
	of    *prefetch.Issuer
	cfg   SegmentConfig
	store Store
}

// OpenSegment calls NewSegment and Start, and returns a Segment that has started. The caller closes
// it, and closes the store after it.
func OpenSegment(ctx context.Context, store Store, cfg SegmentConfig) (*Segment, error) {
	i, err := NewSegment(store, cfg)
	if err == nil {
		err = i.Start(ctx)
	}
	if err != nil {
		return nil, err
	}
	return i, nil
}

// NewSegment returns a Segment of the numbers of cfg. It does not contact the store. The Segment
// issues no numbers before Start. Errors: those of SegmentConfig.Validate, and one for a nil store.
func NewSegment(store Store, cfg SegmentConfig) (*Segment, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if fault.Nil(store) {
		return nil, errors.New("segment: the store is nil: give one, such as Numbers of a dbseq.Center")
	}
	i := &Segment{cfg: cfg.withDefaults(), store: store}
	i.of = prefetch.New(prefetch.Policy{
		Strict: i.cfg.Strict,
		Steps:  numberstore.Steps{Min: i.cfg.MinStep, Max: i.cfg.MaxStep, Cover: i.cfg.Cover}, Step: i.cfg.Step, Most: i.cfg.MaxStep,
		Reserve: i.reserve,
		Final: func(err error) bool {
			// After a success, an operator may correct the setup, such as a changed password.
			return final(err) || errors.Is(err, lease.ErrSetup) && i.of.Stats().Reservations == 0
		},
		Over:       ErrEnd,
		Retry:      2 * time.Second,
		Changed:    i.logChange,
		NotStarted: fmt.Errorf("segment: %q issues from Start on, which is OnStart with fx: %w", i.cfg.key(), generator.ErrNotStarted),
		Stopped:    ErrClosed,
		Late:       errors.New("no reply in time"),
	})
	return i, nil
}

// reserve makes one request to the store.
func (i *Segment) reserve(ctx context.Context, n, above int64) (numberstore.Range, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := i.apart(ctx, above); err != nil {
		return numberstore.Range{}, err
	}
	return i.store.Reserve(ctx, i.cfg.request(n, above))
}

// apart returns an error, before the first request, if the name is that of a scope of a series on
// record.
func (i *Segment) apart(ctx context.Context, above int64) error {
	series, _, dot := strings.Cut(i.cfg.Name, ".")
	store, ok := i.store.(numberstore.Reader)
	if !ok || !dot || above > 0 || len(series) > maxName {
		return nil
	}
	_, err := store.HighWater(ctx, numberstore.Periods+i.cfg.Namespace+"."+series)
	if err == nil {
		err = fmt.Errorf("it is a scope of series %q, whose numbers it would take: choose another name: %w", series, lease.ErrSetup)
	} else if errors.Is(err, ErrUnknown) {
		err = nil
	}
	return err
}

// Start starts a goroutine that prefetches until Close. It waits for the first numbers until
// ctx ends, and retries if the store fails. After an error, the Segment is closed. In strict
// order, Start only looks at the store, and only a lease.ErrSetup is an error: a missing name
// becomes an error of the first Next. A second Start before Close is an error and changes
// nothing.
//
// Errors: ErrUnknown, ErrEnd and ErrClosed, without waiting. ErrUnavailable when ctx ends, or
// immediately with a lease.ErrSetup, such as for a wrong password or the name of a scope of a Series.
func (i *Segment) Start(ctx context.Context) error {
	i.of.Reopen()
	if err := i.of.Start(ctx); err != nil {
		return fmt.Errorf("segment: open %q: %w", i.cfg.key(), err)
	}
	first := i.of.First
	if i.cfg.Strict {
		first = i.look
	}
	if err := first(ctx); err != nil {
		return errors.Join(fmt.Errorf("segment: open %q: %w", i.cfg.key(), unavailable(err)), i.Close())
	}
	return nil
}

// look returns an error if the store can provide no number until its setup is changed.
func (i *Segment) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err := i.apart(ctx, 0)
	if store, ok := i.store.(numberstore.Reader); ok && !errors.Is(err, lease.ErrSetup) {
		_, err = store.HighWater(ctx, i.cfg.key())
	}
	if errors.Is(err, lease.ErrSetup) {
		return err
	}
	return nil
}

// Close ends the Segment and its goroutine, until another Start. Prefetched numbers are never
// issued. Close does not close the store. It always returns nil.
func (i *Segment) Close() error {
	i.of.Close()
	return nil
}

// Next returns the next number. If none is prefetched, it waits for the store until ctx ends.
//
// Errors: ErrEnd, ErrUnknown, snowlease.ErrNotStarted and ErrClosed, without waiting.
// ErrUnavailable when ctx ends, with its cause, or with a lease.ErrSetup if the store never
// provided a number. The number is then 0.
func (i *Segment) Next(ctx context.Context) (int64, error) {
	if n, ok := i.of.Take(); ok {
		return n, nil
	}
	var dst [1]int64
	err := i.NextIDs(ctx, dst[:])
	return dst[0], err
}

// NextIDs fills dst with ascending numbers, which need not be consecutive. It waits like Next
// and returns the same errors. On error, dst is zeroed and the numbers taken for it are never
// issued. If Reset is called in the meantime, NextIDs starts over, because a copy of the
// process may hold the same numbers.
func (i *Segment) NextIDs(ctx context.Context, dst []int64) error {
	return unavailable(i.of.Fill(ctx, dst))
}

// Reset discards the numbers that are reserved but not issued. It is for a process that may
// have been copied with its memory, such as a virtual machine restored from a snapshot or a
// checkpointed container: the copies hold the same numbers. Call it after the copy resumes and
// before it requests a number. Calls in progress query the store again. In strict order, only
// calls in progress hold numbers. It does not help if the store is copied, too, as a SQLite file is
// with its host.
func (i *Segment) Reset() { i.of.Reset() }

func unavailable(err error) error {
	if err == nil || final(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// logChange logs that the store has failed with err since a time, or that it responds again if
// err is nil.
func (i *Segment) logChange(since time.Time, err error) {
	log := i.cfg.Logger.With("segment", i.cfg.key(), "store", nameOf(i.store))
	if err != nil {
		log.Warn("segment store failing", "failing_since", since, "err", err)
		return
	}
	log.Info("segment store answers again")
}
