package redisnumbers

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/redisconn"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
)

var (
	_ numbers.Store = (*Dispenser)(nil)
	_ fmt.Stringer  = (*Dispenser)(nil)
)

// A Dispenser hands out numbers in strict order through Redis, from segments that it reserves in
// another store: see redisseq.Dispenser.
type Dispenser struct {
	conn  *redisconn.Conn
	store numbers.Store
	step  int64 // of the first segment
	steps numberstore.Steps

	mu     sync.Mutex
	closed bool
	stop   chan struct{} // closed by Close
	fetchs sync.WaitGroup
}

const (
	// fetchTime bounds how long the store may take for a segment. patience, after which
	// another process fetches, is longer, so that requests to a slow store do not pile up.
	fetchTime = 3 * time.Second
	patience  = 4 * time.Second
)

// NewDispenser returns a dispenser on client in front of store. It does not connect.
func NewDispenser(client redis.UniversalClient, store numbers.Store, cfg numbers.SegmentConfig, opts ...redisconn.Option) (*Dispenser, error) {
	c, err := redisconn.New(client, opts...)
	errs := []error{err, cfg.Validate()}
	if fault.Nil(store) {
		errs = append(errs, errors.New("redisseq: the store behind the dispenser is nil: pass one, such as Numbers of a dbseq.Center"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	d := &Dispenser{conn: c, store: store, step: cfg.Step, stop: make(chan struct{})}
	d.steps = numberstore.Steps{Min: cfg.MinStep, Max: cfg.MaxStep, Cover: cfg.Cover}.WithDefaults(&d.step)
	return d, nil
}

// Close cancels fetches from the store in progress and waits for them. Segments in Redis stay for
// other processes. Close closes the dispenser's own client, but neither the given client nor the
// store.
func (d *Dispenser) Close() error {
	d.mu.Lock()
	if !d.closed {
		d.closed = true
		close(d.stop)
	}
	d.mu.Unlock()
	d.fetchs.Wait()
	return d.conn.Close()
}

// String returns the names of the Redis server and of the store behind it.
func (d *Dispenser) String() string {
	if named, ok := d.store.(fmt.Stringer); ok {
		return d.conn.String() + " before " + named.String()
	}
	return fmt.Sprintf("%s before %T", d.conn, d.store)
}

// Warnings returns warnings about properties of the client that NewDispenser could not check, and
// the warnings of the store behind it, for the log.
func (d *Dispenser) Warnings() []string {
	warnings := d.conn.Warnings()
	if s, ok := d.store.(interface{ Warnings() []string }); ok {
		warnings = append(warnings, s.Warnings()...)
	}
	return warnings
}

// Reserve implements numbers.Store. It waits for the store behind the dispenser if Redis has no
// numbers left. Errors are numbers.ErrEnd, numberstore.ErrRequest, errors of the store behind it,
// numbers.ErrClosed, lease.ErrDamaged, and ErrRunID and ErrReplica of package redisseq.
func (d *Dispenser) Reserve(ctx context.Context, r numberstore.Request) (numberstore.Range, error) {
	if err := check(r); err != nil {
		return numberstore.Range{}, err
	}
	for {
		select {
		case <-d.stop:
			return numberstore.Range{}, numbers.ErrClosed
		default:
		}
		me := fmt.Sprintf("%x", lease.NewOwner()) // copies of a virtual machine may share random state
		var first, n, fetch int64
		state := state{me: me}
		if err := d.deal(ctx, "dispense", r.Name, me, r.N, r.Above, r.Max, &first, &n, &fetch, &state.top, &state.step, &state.used, &state.ms); err != nil {
			if ctx.Err() != nil {
				d.background(func() { _ = d.leave(ctx, r.Name, me) })
			}
			return numberstore.Range{}, err
		}
		var fetched <-chan error
		if fetch == 1 {
			fetched = d.fetch(ctx, r, state)
		}
		switch {
		case n > 0 && first > r.Max:
			return numberstore.Range{}, fmt.Errorf("%w: %q at %s is at %d", numbers.ErrEnd, r.Name, d, first)
		case n > 0:
			return numberstore.Range{First: first, Last: min(first+n-1, r.Max)}, nil
		}
		if err := d.await(ctx, fetched); err != nil {
			return numberstore.Range{}, err
		}
	}
}

// HighWater returns the greatest number that the store behind the dispenser has issued for a name,
// to Redis. It also asks Redis, whose errors it returns.
func (d *Dispenser) HighWater(ctx context.Context, name string) (given int64, err error) {
	err = d.leave(ctx, name, rand.Text()) // Redis has selected nobody with that random name to fetch
	if reader, ok := d.store.(numberstore.Reader); ok && (err == nil || errors.Is(err, numberstore.ErrUnknown)) {
		given, err = reader.HighWater(ctx, name)
	}
	return given, err
}

// deal runs a verb of dispenser.lua. It does not wait for replicas, because the store behind the
// dispenser makes numbers unique.
func (d *Dispenser) deal(ctx context.Context, verb, name, me string, n, number, most int64, to ...*int64) error {
	args := []any{verb, me, n, number, patience.Milliseconds(), most}
	return deal(ctx, d.conn, redisconn.Call{Verb: verb + " numbers of", Name: name, Script: dispenser, Args: args}, "dispenser", to...)
}

// await waits for the segment that this process fetches, or, if it fetches none, for a moment.
func (d *Dispenser) await(ctx context.Context, fetched <-chan error) error {
	var moment <-chan time.Time
	if fetched == nil {
		timer := time.NewTimer(2*time.Millisecond + mathrand.N(10*time.Millisecond))
		defer timer.Stop()
		moment = timer.C
	}
	select {
	case err := <-fetched:
		return err
	case <-moment:
		return nil
	case <-d.stop:
		return numbers.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A state is the information that a caller needs to fetch a segment.
type state struct {
	me             string
	top            int64 // the segment must lie above it
	step, used, ms int64 // size of the current segment, and used numbers in ms milliseconds
}

// fetch gets a segment from the store and installs it in the background, because the caller may
// already have its numbers.
func (d *Dispenser) fetch(ctx context.Context, r numberstore.Request, s state) <-chan error {
	done := make(chan error, 1)
	if !d.background(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTime)
		defer cancel()
		go func() {
			select {
			case <-d.stop:
				cancel()
			case <-ctx.Done():
			}
		}()
		got, err := d.reserve(ctx, r, s)
		if err == nil {
			done <- d.deal(ctx, "install", r.Name, s.me, got.Len(), got.First, 0)
		} else {
			done <- errors.Join(err, d.leave(ctx, r.Name, s.me))
		}
	}) {
		done <- numbers.ErrClosed
	}
	return done
}

// background runs f in a goroutine that Close waits for. It returns false if the dispenser is
// closed.
func (d *Dispenser) background(f func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.fetchs.Go(f)
	}
	return !d.closed
}

// leave lets another caller fetch, if Redis has selected me. ctx may have ended.
func (d *Dispenser) leave(ctx context.Context, name, me string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTime)
	defer cancel()
	return d.deal(ctx, "install", name, me, 0, 0, 0)
}

func (d *Dispenser) reserve(ctx context.Context, r numberstore.Request, s state) (numberstore.Range, error) {
	step := d.steps.Next(cmp.Or(s.step, d.step), s.used, time.Duration(s.ms)*time.Millisecond)
	r.N = max(step, min(r.N, d.steps.Max)) // so that a batch is not split
	r.Above = max(r.Above, s.top)
	return d.store.Reserve(ctx, r)
}
