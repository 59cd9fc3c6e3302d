// Package keeper borrows a worker id from a lease.Center for a snowflake.Generator, renews
// it and gives it back.
package keeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A Schedule says when to renew: the next time after t, or the zero time for
// never. The schedules of robfig/cron are such.
type Schedule interface {
	Next(t time.Time) time.Time
}

// Config is what a Keeper needs.
type Config struct {
	Center    lease.Center
	Generator *snowflake.Generator
	// Request says what to borrow. Owner, Local and Ahead are filled in. See NewRequest.
	Request lease.Request
	// Schedule adds times to renew at to those that the lease needs by itself,
	// which are every third of TTL. Each is one renewal, early by what Jitter, asked
	// once, takes off a third of TTL. Default: none.
	Schedule Schedule
	// Wait bounds how long Start waits for a free worker id, a center that is down
	// or a quarantine, within its context. Default: 10s.
	Wait time.Duration
	// ExactTimes waits, where the center may have forgotten grants, until its clock has
	// passed all of them: for MaxTTL + Skew, without ids where none are left. Default: the
	// keeper borrows above them after Skew and a moment, and ids carry times up to MaxTTL
	// ahead of the clock until that has caught up.
	ExactTimes bool
	// OnLost is called after each loss of a lease, from the keeper's goroutine. It
	// must not block, nor call the keeper.
	OnLost func(error)
	// Jitter spreads what the keeper waits for, so that the replicas of a service do
	// not act all at once; tests and simulations set it. It returns what to wait
	// instead of d. Default: up to a tenth less, at random.
	Jitter func(d time.Duration) time.Duration
	// Logger gets one line a change of state. Default: none is written.
	Logger *slog.Logger
}

// NewRequest returns a request for any worker id of the layout in namespace, with
// the defaults: TTL and MaxTTL 30 s, skew 2 s, as many workers as the layout has.
func NewRequest(namespace string, l snowflake.Layout) lease.Request {
	return lease.Request{
		Namespace: namespace,
		Layout:    l.String(),
		Pool:      l.Workers(),
		Last:      l.Workers() - 1,
		TTL:       lease.DefaultTTL,
		MaxTTL:    lease.DefaultTTL,
		Skew:      lease.DefaultSkew,
	}
}

// DefaultWait is how long Start waits by default.
const DefaultWait = 10 * time.Second

// State is where a Keeper stands.
type State int

// The states of a keeper.
const (
	Idle        State = iota // not started
	Borrowing                // asks for a worker id: at the start, or after a loss
	Quarantined              // asks for one; the center has forgotten grants and lends none yet
	Holding                  // has one
	Stopped                  // gave it back
)

// String returns the state in a word.
func (s State) String() string {
	switch s {
	case Idle:
		return "idle"
	case Borrowing:
		return "borrowing"
	case Quarantined:
		return "quarantined"
	case Holding:
		return "holding"
	case Stopped:
		return "stopped"
	}
	return fmt.Sprintf("State(%d)", int(s))
}

// Status is what a keeper knows at a moment.
type Status struct {
	State   State
	Grant   lease.Grant // the last one; zero before the first. A lost one may still be used up
	Renewed time.Time   // when the center last answered with it, by the local clock
	Losses  int         // leases lost so far
	// Renewals counts the renewals that succeeded, Failures the attempts to borrow or to
	// renew that did not, but for losses.
	Renewals, Failures int64
	Err                error // of the last attempt; nil after a success
}

// A Keeper borrows a worker id for a generator, renews it and gives it back. It
// has one goroutine, between Start and Stop. All methods are safe for concurrent
// use.
//
// A lease that is lost stops nobody: the generator may use up its range while the
// keeper borrows another worker id.
type Keeper struct {
	cfg Config

	// life has an element while Start, Reset or Stop runs: one after the other. Package
	// testing/synctest sees who waits for a channel, not who waits for a mutex.
	life chan struct{}

	mu        sync.Mutex
	status    Status
	cancel    context.CancelFunc // ends the loop
	ended     chan struct{}      // closed when the loop has ended
	stopping  bool               // Stop was called
	interrupt context.CancelFunc // ends a Start or Reset that is under way

	early  time.Duration // renews this long before a point of Schedule, so that replicas spread
	outage outage

	// Of the goroutine that borrows: Start's caller, then the loop, then Stop's.
	grant lease.Grant // zero: none to renew or give back
	lent  snowflake.Range
}

// New returns a keeper that has not started. It reports every fault of cfg.
func New(cfg Config) (*Keeper, error) {
	var errs []error
	if cfg.Center == nil {
		errs = append(errs, errors.New("lease: keeper: Center is nil"))
	}
	if cfg.Generator == nil {
		errs = append(errs, errors.New("lease: keeper: Generator is nil"))
	}
	if cfg.Wait < 0 {
		errs = append(errs, fmt.Errorf("lease: keeper: Wait %v is negative", cfg.Wait))
	}
	req := cfg.Request
	req.Owner, req.Ahead = lease.NewOwner(), 0
	if err := req.Validate(); err != nil {
		errs = append(errs, err)
	}
	if g := cfg.Generator; g != nil {
		l := g.Layout()
		if req.Layout != l.String() {
			errs = append(errs, fmt.Errorf("lease: keeper: the request's layout %q is not the generator's %q", req.Layout, l))
		}
		if req.Pool > l.Workers() {
			errs = append(errs, fmt.Errorf("lease: keeper: the pool of %d is more than the layout's %d workers", req.Pool, l.Workers()))
		}
		if req.TTL < 10*l.TimeUnit {
			errs = append(errs, fmt.Errorf("lease: keeper: TTL %v is less than 10 time units (%v) of the layout", req.TTL, 10*l.TimeUnit))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	cfg.Request.Ahead = 0
	if !cfg.ExactTimes {
		cfg.Request.Ahead = ahead(cfg.Request, cfg.Generator.Layout())
	}
	if cfg.Wait == 0 {
		cfg.Wait = DefaultWait
	}
	if cfg.Jitter == nil {
		cfg.Jitter = lessUpToATenth
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	k := &Keeper{cfg: cfg, life: make(chan struct{}, 1)}
	if cfg.Schedule != nil {
		k.early = req.TTL/3 - k.jitter(req.TTL/3)
	}
	return k, nil
}

// ahead leaves a quarter of a second for ids in the shortest range that is borrowed
// ahead of the clock, or a whole tick of the layout.
func ahead(req lease.Request, l snowflake.Layout) time.Duration {
	least := max(250*time.Millisecond, 3*l.TimeUnit)
	return (req.MaxTTL - min(least, req.MaxTTL/2)).Truncate(time.Millisecond)
}

// Status returns where the keeper stands.
func (k *Keeper) Status() Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.status
}

// Start borrows a worker id and begins to renew it. It waits within ctx and Wait,
// and returns a little before ctx ends, so that its error is heard.
//
// Errors wrap those of Center.Acquire and name the center; a keeper starts once.
// After an error the keeper holds nothing and may be started again. Stop ends it.
func (k *Keeper) Start(ctx context.Context) error {
	k.life <- struct{}{}
	defer func() { <-k.life }()
	k.mu.Lock()
	if k.status.State != Idle {
		defer k.mu.Unlock()
		return fmt.Errorf("lease: keeper of namespace %q is %v: it starts once", k.cfg.Request.Namespace, k.status.State)
	}
	k.status.State = Borrowing
	k.mu.Unlock()

	ctx, done := k.untilStop(ctx)
	defer done()
	err := k.borrowAtStart(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.status.State, k.status.Err = Idle, err
		return err
	}
	k.begin(ctx)
	return nil
}

// untilStop returns ctx, which then ends when Stop is called as well.
func (k *Keeper) untilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.interrupt = func() {
		cancel(fmt.Errorf("lease: keeper of namespace %q is stopped meanwhile", k.cfg.Request.Namespace))
	}
	if k.stopping {
		k.interrupt()
	}
	return ctx, func() { cancel(nil) }
}

// begin starts the loop, with mu held.
func (k *Keeper) begin(ctx context.Context) {
	loop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k.cancel, k.ended = cancel, make(chan struct{})
	go k.run(loop)
}

// borrowAtStart borrows within ctx and Wait.
func (k *Keeper) borrowAtStart(ctx context.Context) error {
	began := time.Now()
	if ctx.Err() != nil {
		return k.attempted(began, context.Cause(ctx))
	}
	deadline := began.Add(k.cfg.Wait)
	if end, ok := ctx.Deadline(); ok {
		deadline = earlier(deadline, end.Add(-min(500*time.Millisecond, time.Until(end)/10)))
	}
	within, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	owner := lease.NewOwner()
	var telling error // the last error that says more than that time is up
	for {
		again, err := k.borrow(within, owner)
		switch {
		case err == nil:
			return nil
		case telling == nil || within.Err() == nil:
			telling = err
		}
		if ctx.Err() != nil {
			return k.attempted(began, errors.Join(telling, context.Cause(ctx)))
		}
		if again < 0 || !time.Now().Add(max(again, quarantined(err))).Before(deadline) || !sleep(within, again) {
			return k.attempted(began, telling)
		}
	}
}

// quarantined returns how long the quarantine lasts that err tells of, or 0.
func quarantined(err error) time.Duration {
	if q := (*lease.QuarantineError)(nil); errors.As(err, &q) {
		return q.Wait()
	}
	return 0
}

func (k *Keeper) attempted(began time.Time, err error) error {
	return fmt.Errorf("borrow a worker id of namespace %q from %s (tried for %v): %w",
		k.cfg.Request.Namespace, lease.Name(k.cfg.Center), time.Since(began).Round(time.Millisecond), err)
}

// borrow makes one attempt and lets the generator issue. After an error it returns
// how long to wait before the next, or less than 0 where none can succeed.
func (k *Keeper) borrow(ctx context.Context, owner [16]byte) (again time.Duration, err error) {
	req := k.cfg.Request
	req.Owner, req.Local = owner, time.Now().UnixMilli()
	g, err := k.cfg.Center.Acquire(ctx, req)
	at := k.cfg.Generator.Elapsed()
	if err != nil {
		k.mu.Lock()
		k.status.Failures++
		k.mu.Unlock()
		var (
			full       *lease.NoFreeWorkerError
			quarantine *lease.QuarantineError
			mismatch   *lease.MismatchError
			clock      *lease.ClockError
		)
		switch {
		case errors.As(err, &full):
			return k.jitter(max(k.retry(), min(full.Wait(), maxPause))), err
		case errors.As(err, &quarantine):
			return k.after(quarantine), err
		case errors.As(err, &mismatch), errors.As(err, &clock), errors.Is(err, lease.ErrSetup):
			return -1, err
		}
		return k.jitter(k.retry()), err
	}
	lent := rangeOf(g, at)
	if err = ctx.Err(); err == nil {
		_, err = k.cfg.Generator.Adopt(lent)
	}
	if err != nil { // nobody waits for it any more, or nobody can use it
		return -1, errors.Join(err, k.release(ctx, g, g.Floor))
	}
	k.grant, k.lent = g, lent
	k.mu.Lock()
	k.status.State, k.status.Grant, k.status.Renewed, k.status.Err = Holding, g, time.Now(), nil
	k.mu.Unlock()
	k.cfg.Logger.Info("worker id borrowed", "worker", g.Worker, "namespace", g.Namespace, "center", lease.Name(k.cfg.Center),
		"token", g.Token, "ttl", g.TTL)
	k.watch(ctx, lent)
	return 0, nil
}

func rangeOf(g lease.Grant, at time.Duration) snowflake.Range {
	return snowflake.Range{Worker: g.Worker, Floor: g.Floor, Ceiling: g.Ceiling, Now: g.Now, At: at}
}

// run renews, and borrows again after a loss, until ctx ends.
func (k *Keeper) run(ctx context.Context) {
	defer close(k.ended)
	owner := lease.NewOwner()
	for pause := time.Duration(0); ; {
		if k.grant == (lease.Grant{}) {
			if !sleep(ctx, pause) {
				return
			}
			call, cancel := context.WithTimeout(ctx, k.cfg.Wait)
			again, err := k.borrow(call, owner)
			cancel()
			if err == nil {
				owner, pause = lease.NewOwner(), 0
				continue
			}
			k.failed(ctx, "no worker id yet", err)
			if pause = again; again < 0 {
				pause = k.jitter(maxPause) // only a change of somebody's configuration helps
			}
			continue
		}
		if pause == 0 {
			pause = k.untilRenewal()
		}
		if !sleep(ctx, pause) {
			return
		}
		pause = k.renew(ctx)
	}
}

// renew makes one attempt and returns how long to wait before the next, or 0 after
// a success or a loss.
func (k *Keeper) renew(ctx context.Context) time.Duration {
	call, cancel := context.WithTimeout(ctx, min(callTimeout, k.grant.TTL/3))
	g, err := k.cfg.Center.Renew(call, k.grant)
	at := k.cfg.Generator.Elapsed()
	cancel()
	switch {
	case err == nil:
		next := rangeOf(g, at)
		if err := k.install(next); err != nil {
			k.failed(ctx, "renewal not installed", err)
			return k.jitter(k.retry())
		}
		if g.Floor != k.grant.Floor {
			k.cfg.Logger.Warn("the center may have forgotten grants: ids go on above them", "worker", g.Worker, "namespace", g.Namespace,
				"token", g.Token, "ahead", time.Duration(g.Floor-g.Now)*time.Millisecond)
		}
		k.grant, k.lent = g, next
		k.mu.Lock()
		again := k.status.Err != nil
		k.status.Renewals++
		k.status.State, k.status.Grant, k.status.Renewed, k.status.Err = Holding, g, time.Now(), nil
		k.mu.Unlock()
		level := slog.LevelDebug
		if again {
			level = slog.LevelInfo
		}
		k.cfg.Logger.Log(ctx, level, "lease renewed", "worker", g.Worker, "namespace", g.Namespace, "ceiling", time.UnixMilli(g.Ceiling))
		k.watch(ctx, next)
		return 0
	case errors.Is(err, lease.ErrLost):
		k.mu.Lock()
		k.status.Losses++
		k.mu.Unlock()
		k.note(Borrowing, err)
		k.cfg.Logger.Error("lease lost: its range is used up while another worker id is borrowed",
			"worker", k.grant.Worker, "namespace", k.grant.Namespace, "token", k.grant.Token, "ceiling", time.UnixMilli(k.grant.Ceiling), "err", err)
		k.grant = lease.Grant{}
		if k.cfg.OnLost != nil {
			k.cfg.OnLost(err)
		}
		return 0
	}
	k.mu.Lock()
	k.status.Failures++
	k.mu.Unlock()
	k.failed(ctx, "lease not renewed: trying again, the ceiling stands", err)
	if q := (*lease.QuarantineError)(nil); errors.As(err, &q) {
		return k.after(q)
	}
	return k.jitter(k.retry())
}

// install gives the generator the range of a renewal.
func (k *Keeper) install(next snowflake.Range) error {
	if next.Floor != k.lent.Floor {
		_, err := k.cfg.Generator.Adopt(next)
		return err
	}
	if !k.cfg.Generator.Extend(k.lent, next) {
		// The generator was stopped or given another range by somebody else.
		return fmt.Errorf("lease: renewed range %+v does not follow %+v", next, k.lent)
	}
	return nil
}

// failed notes an error and logs the first of a row.
func (k *Keeper) failed(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return // stopping
	}
	k.mu.Lock()
	first := k.status.Err == nil || errors.Is(k.status.Err, lease.ErrLost)
	state := k.status.State
	k.mu.Unlock()
	if q := (*lease.QuarantineError)(nil); state != Holding {
		state = Borrowing
		if errors.As(err, &q) {
			state = Quarantined
		}
	}
	k.note(state, err)
	level := slog.LevelDebug
	if first {
		level = slog.LevelWarn
	}
	k.cfg.Logger.Log(ctx, level, what, "namespace", k.cfg.Request.Namespace, "center", lease.Name(k.cfg.Center), "err", err)
}

func (k *Keeper) note(s State, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.status.State, k.status.Err = s, err
}

// Reset borrows another worker id for a process that may have been copied with its
// memory: restored from a snapshot, or cloned. The copies hold the same grant, so
// what this one holds is forgotten and not given back. Issuing stops at once and
// goes on under the new worker id. It waits as Start does.
//
// A copy must call it before it asks for an id: nothing here can notice that it was
// copied. The worker id that is forgotten is free when its lease expires.
//
// After an error the keeper goes on to ask for a worker id. It is an error to reset
// a keeper that has not started, or has stopped.
func (k *Keeper) Reset(ctx context.Context) error {
	k.cfg.Generator.Drop()
	k.life <- struct{}{}
	defer func() { <-k.life }()
	k.mu.Lock()
	state, cancel, ended := k.status.State, k.cancel, k.ended
	k.mu.Unlock()
	if state == Idle || state == Stopped {
		return fmt.Errorf("lease: keeper of namespace %q is %v: there is nothing to reset", k.cfg.Request.Namespace, state)
	}
	ctx, done := k.untilStop(ctx)
	defer done()
	cancel()
	<-ended // not long: a Center returns when its context ends
	// Again: a borrow that was under way when the copies were made is one of both.
	k.cfg.Generator.Drop()
	forgotten := k.grant
	k.grant = lease.Grant{}
	k.mu.Lock()
	k.status.State, k.status.Grant, k.status.Err = Borrowing, lease.Grant{}, nil
	k.mu.Unlock()
	k.cfg.Logger.Warn("reset: the worker id is forgotten, not given back", "worker", forgotten.Worker,
		"namespace", k.cfg.Request.Namespace, "token", forgotten.Token)

	err := k.borrowAtStart(ctx)
	if err != nil {
		k.note(Borrowing, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.stopping {
		k.begin(ctx)
	}
	return err
}

// Stop ends renewing, then issuing, for good, then gives the worker id back. It takes
// at most 5 s, even if ctx has ended, and ends a Start or Reset that is under way. The
// error says that the worker id was not given back; it is then free when its lease
// expires. A second Stop does nothing.
func (k *Keeper) Stop(ctx context.Context) error {
	k.mu.Lock()
	k.stopping = true
	if k.interrupt != nil {
		k.interrupt()
	}
	k.mu.Unlock()
	// Whatever life is waited for has at most one release left to wait for, and leaves
	// nothing to give back where it has.
	k.life <- struct{}{}
	defer func() { <-k.life }()
	k.mu.Lock()
	state, cancel, ended := k.status.State, k.cancel, k.ended
	k.status.State = Stopped
	k.mu.Unlock()
	if state == Stopped {
		return nil
	}
	if cancel != nil {
		cancel()
		<-ended // not long: a Center returns when its context ends
	}
	err := k.giveBack(ctx)
	k.note(Stopped, err)
	return err
}

// giveBack stops the generator and releases the grant.
func (k *Keeper) giveBack(ctx context.Context) error {
	lastUsed := k.cfg.Generator.Stop()
	g := k.grant
	k.outage.end()
	if g == (lease.Grant{}) {
		return nil
	}
	k.grant = lease.Grant{}
	err := k.release(ctx, g, lastUsed)
	if err != nil {
		err = fmt.Errorf("give worker id %d of namespace %q back to %s: %w", g.Worker, g.Namespace, lease.Name(k.cfg.Center), err)
		k.cfg.Logger.Warn("worker id not given back: it is free when its lease expires", "worker", g.Worker,
			"namespace", g.Namespace, "expires", time.UnixMilli(g.Ceiling), "err", err)
		return err
	}
	k.cfg.Logger.Info("worker id given back", "worker", g.Worker, "namespace", g.Namespace, "center", lease.Name(k.cfg.Center))
	return nil
}

// release tries for releaseTimeout: a process that stops has little time, and the
// context it stops with may have ended.
func (k *Keeper) release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	for {
		err := k.cfg.Center.Release(call, g, lastUsed)
		if err == nil || errors.Is(err, lease.ErrLost) {
			return nil
		}
		if !sleep(call, 100*time.Millisecond) {
			return err
		}
	}
}

const (
	callTimeout    = 2 * time.Second
	releaseTimeout = 5 * time.Second // many processes may stop at once
	maxPause       = 5 * time.Second
)

// retry is how long to wait after a failed call.
func (k *Keeper) retry() time.Duration { return min(time.Second, k.cfg.Request.TTL/10) }

// after is how long to wait where the center says when it lends again: no longer than
// that, but for what spreads the replicas. Who waits to borrow ahead of the clock looks
// before, since another loss is noticed, and its wait begins, only then.
func (k *Keeper) after(q *lease.QuarantineError) time.Duration {
	pause := maxPause
	if k.cfg.Request.Ahead > 0 {
		pause = time.Second / 2
	}
	return max(10*time.Millisecond, min(q.Wait(), pause)) + k.retry() - k.jitter(k.retry())
}

// untilRenewal returns how long to wait after a success. A range that begins ahead of
// the clock is short at first, and grows with each renewal until the clock catches up.
func (k *Keeper) untilRenewal() time.Duration {
	g := k.grant
	left := time.Duration(g.Ceiling-max(g.Floor, g.Now)) * time.Millisecond
	d := min(g.TTL/3, max(left/2, k.retry()/10))
	if s := k.cfg.Schedule; s != nil {
		// The schedule is one of the wall clock, which may step: what it says never
		// makes a renewal later than the lease needs it.
		from := time.Now().Add(k.early)
		if next := s.Next(from); next.After(from) && next.Sub(from) <= d {
			return next.Sub(from) // without jitter, so that each point is met once
		}
	}
	return k.jitter(d)
}

// jitter is never 0, which is no pause.
func (k *Keeper) jitter(d time.Duration) time.Duration { return max(1, k.cfg.Jitter(d)) }

func lessUpToATenth(d time.Duration) time.Duration {
	return d - time.Duration(rand.Int64N(int64(d)/10+1))
}

// sleep reports whether d passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
