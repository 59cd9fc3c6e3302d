package segments

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/redisseq"
	"github.com/snowlease/snowlease/redisseq/internal/conn"
	"github.com/snowlease/snowlease/segment"
)

var (
	_ segment.Store = (*Dispenser)(nil)
	_ fmt.Stringer  = (*Dispenser)(nil)
)

// Dispenser hands out numbers in strict order through Redis, from segments that it
// reserves in another store, usually dbseq.Segments. It is a segment.Store for
// segment.OrderStrict, and safe for concurrent use.
//
//	store, err := dbseq.NewSegments(db)
//	cfg := segment.Config{Name: "orders", Order: segment.OrderStrict}
//	dispenser, err := segments.NewDispenser(client, store, cfg)
//	defer dispenser.Close()
//	orders, err := segment.Open(ctx, cfg, dispenser)
//
// A number costs one round trip to Redis. All processes share the current segment and
// the one behind it, so numbers rise across all of them, first come, first served. When
// the one behind becomes the current one, one of the processes fetches another in the
// background; nobody waits for the database at a steady rate.
//
// No number is given twice, whatever a failing Redis loses, as long as the store keeps
// what it has acknowledged: it never gives one number into two reservations, and a reservation
// gets into Redis at most once. A script lets only that caller install a segment whom
// it told to fetch one, once, in the same state of the same server. A Redis that was
// wiped, restarted or replaced by a replica, if only for a while, leaves its segments
// alone and goes on with a new one from the store, above them: numbers are skipped, and
// never go back. This needs the right to INFO (see package redisseq).
// redisseq.WithQuarantine(redisseq.Never) does without, for a Redis that never loses an acknowledged
// write; there a loss of all the data is still noticed.
//
// Old data that somebody loads into a running Redis (RESTORE, DEBUG RELOAD NOSAVE) go
// unseen by processes that have no numbers yet: delete the hash then.
//
// While two masters take writes at once each hands out segments of its own: numbers
// are still given once, but are in no order. The state is one hash,
// snowlease:{name}:dispenser, without a TTL, which may be deleted at any time.
type Dispenser struct {
	conn  *conn.Conn
	store segment.Store
	cfg   segment.Config

	mu     sync.Mutex
	closed bool
	stop   chan struct{} // closed by Close
	fetchs sync.WaitGroup
}

const (
	// fetchTime bounds how long the store may take for a segment. Others wait for
	// longer, so that a slow store is not asked again and again.
	fetchTime = 3 * time.Second
	patience  = 4 * time.Second
)

var (
	//go:embed dispense_base.lua
	dispenseBaseLua string
	//go:embed dispense.lua
	dispenseLua string
	//go:embed dispense_install.lua
	dispenseInstallLua string

	dispense = load(dispenseBaseLua, dispenseLua)
	install  = load(dispenseBaseLua, dispenseInstallLua)
)

// NewDispenser returns a dispenser on client in front of store, both of which stay the
// caller's to close. It does not connect. The segments that it fetches have the steps and
// the cover of cfg. Clients and options are those of redisseq.New; WithWaitReplicas changes
// nothing here.
func NewDispenser(client redis.UniversalClient, store segment.Store, cfg segment.Config, opts ...redisseq.Option) (*Dispenser, error) {
	c, err := conn.New(client, opts...)
	errs := []error{err, cfg.Validate()}
	if store == nil {
		errs = append(errs, errors.New("redisseq: the store behind the dispenser is nil: give one, from dbseq.NewSegments for example"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Dispenser{conn: c, store: store, cfg: cfg.WithDefaults(), stop: make(chan struct{})}, nil
}

// Close ends the fetches that are under way and waits for them. What Redis holds
// stays for other processes. The error is always nil.
func (d *Dispenser) Close() error {
	d.mu.Lock()
	if !d.closed {
		d.closed = true
		close(d.stop)
	}
	d.mu.Unlock()
	d.fetchs.Wait()
	return nil
}

// String names the Redis and the store behind it.
func (d *Dispenser) String() string {
	if named, ok := d.store.(fmt.Stringer); ok {
		return d.conn.String() + " before " + named.String()
	}
	return fmt.Sprintf("%s before %T", d.conn, d.store)
}

// Warnings returns what NewDispenser could not check about the client, and those of the
// store behind it, to be logged.
func (d *Dispenser) Warnings() []string {
	warnings := d.conn.Warnings()
	if s, ok := d.store.(interface{ Warnings() []string }); ok {
		warnings = append(slices.Clip(warnings), s.Warnings()...)
	}
	return warnings
}

// Reserve is that of segment.Store. It waits for the store behind where all of Redis's
// numbers are given. Errors besides those named there: those of the store behind,
// segment.ErrClosed, and ErrRunID, ErrReplica, ErrDamaged of package redisseq.
func (d *Dispenser) Reserve(ctx context.Context, r segment.Request) (segment.Range, error) {
	if err := r.Validate(); err != nil {
		return segment.Range{}, err
	}
	const verb = "dispense numbers of"
	for {
		me := rand.Text()
		got, err := d.deal(ctx, conn.Call{Verb: verb, Name: r.Name, Script: dispense, Args: []any{r.N, r.Above, me, patience.Milliseconds()}})
		if err != nil {
			return segment.Range{}, err
		}
		var first, n, fetch int64
		state := state{me: me}
		if err := got.Ints(&first, &n, &fetch, &state.top, &state.step, &state.used, &state.ms); err != nil {
			return segment.Range{}, d.conn.Wrap(verb, r.Name, err)
		}
		var fetched <-chan error
		if fetch == 1 {
			fetched = d.fetch(ctx, r, state)
		}
		switch {
		case n > 0 && first > r.Max:
			return segment.Range{}, fmt.Errorf("%w: %q at %s is at %d", segment.ErrEnd, r.Name, d, first)
		case n > 0:
			return segment.Range{First: first, Last: min(first+n-1, r.Max)}, nil
		}
		if err := d.await(ctx, fetched); err != nil {
			return segment.Range{}, err
		}
	}
}

// deal waits for no replicas: the numbers are the store's behind it, which no Redis gives
// twice.
func (d *Dispenser) deal(ctx context.Context, call conn.Call) (conn.Reply, error) {
	return deal(ctx, d.conn, call, "dispenser")
}

// await waits for the segment that is fetched here, or for a moment where another
// process does it.
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
		return segment.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A state is what the one who fetches a segment has to know.
type state struct {
	me             string
	top            int64 // the segment must lie above
	step, used, ms int64 // the current segment; how many numbers were used in how many ms
}

// fetch gets a segment from the store and installs it, in the background: whoever was
// told to may have what he asked for already.
func (d *Dispenser) fetch(ctx context.Context, r segment.Request, s state) <-chan error {
	done := make(chan error, 1)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		done <- segment.ErrClosed
		return done
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTime)
	d.fetchs.Go(func() {
		select {
		case <-d.stop:
			cancel()
		case <-ctx.Done():
		}
	})
	d.fetchs.Go(func() {
		defer cancel()
		got, err := d.reserve(ctx, r, s)
		if err == nil {
			done <- d.install(ctx, r.Name, s.me, got)
			return
		}
		// Somebody else may try, though ctx may have ended.
		say, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTime)
		defer cancel()
		done <- errors.Join(err, d.install(say, r.Name, s.me, segment.Range{First: 1})) // of no length
	})
	return done
}

func (d *Dispenser) reserve(ctx context.Context, r segment.Request, s state) (segment.Range, error) {
	step := s.step
	if step == 0 {
		step = d.cfg.Step
	}
	step = d.cfg.NextStep(step, s.used, time.Duration(s.ms)*time.Millisecond)
	r.N = max(step, min(r.N, d.cfg.MaxStep)) // a batch is not served in pieces
	r.Above = max(r.Above, s.top)
	return segment.Reserve(ctx, d.store, r)
}

func (d *Dispenser) install(ctx context.Context, name, me string, got segment.Range) error {
	const verb = "install numbers of"
	r, err := d.deal(ctx, conn.Call{Verb: verb, Name: name, Script: install, Args: []any{me, got.First, got.Last, got.Len()}})
	if err == nil && r[0] == "BACK" {
		err = d.conn.Wrap(verb, name, fmt.Errorf("%w: it gave %d to %d below %v", segment.ErrStore, got.First, got.Last, r[1:]))
	}
	return err // LATE: another was told meanwhile, or Redis has forgotten; this segment is skipped
}
