// Package keeper keeps a snowflake.Generator supplied with a worker id: it borrows one
// from a lease.Center, renews it and gives it back. Open is the way to ids that links the
// least: package idworker adds configuration files, fx, GORM and the choice of a center.
package keeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A Schedule says when to renew. Next returns the next time after t, or the zero time
// for never. Schedules of robfig/cron implement it.
type Schedule interface {
	Next(t time.Time) time.Time
}

// Config configures a Keeper. Center is required, and Namespace or Request. A zero field
// means its default.
type Config struct {
	// Center lends the worker ids. The caller closes it after Stop.
	Center lease.Center
	// Namespace names the service whose replicas share one pool of worker ids: 1 to 64
	// characters of A-Z a-z 0-9 . _ - . Set either Namespace or Request.
	Namespace string
	// Layout is the layout of the ids. Set either Layout or Generator.
	Layout snowflake.Layout
	// Generator issues the ids. The Keeper owns it: do not call its Adopt, Extend, Drop or
	// Stop, and give it to one Keeper only. Default: a new one of Layout.
	Generator *snowflake.Generator
	// Request says what to borrow. The Keeper sets Owner, Local and Ahead. Default:
	// NewRequest(Namespace, Layout), held by DefaultHolder.
	Request lease.Request
	// Schedule adds renewals to those that the lease needs, which come every third of
	// TTL. Each time of Schedule gets one renewal, a constant time earlier: what Jitter
	// takes off a third of TTL when it is called once. Default: none.
	Schedule Schedule
	// Wait bounds how long Start waits for a free worker id, for a center that is down,
	// or for a quarantine. The context of Start bounds it too. Default: 10s.
	Wait time.Duration
	// ExactTimes delays borrowing if the center may have forgotten grants, until its
	// clock has passed all of them. That takes up to MaxTTL + Skew, without ids once
	// the current range is used up. By default, the Keeper borrows a range above them
	// after Skew and a moment. Ids then carry times up to MaxTTL ahead of the clock
	// until it has caught up.
	ExactTimes bool
	// OnLost is called after each loss of a lease, by the goroutine of the Keeper. It
	// must not block, and must not call the Keeper.
	OnLost func(error)
	// Jitter returns a delay of least to most, so that the replicas of a service do not
	// act all at once. Tests and simulations set it. Default: at random.
	Jitter func(least, most time.Duration) time.Duration
	// Logger receives one line per change of state. Its handler must not block, and must not
	// call the Keeper. Default: nothing is logged.
	Logger *slog.Logger
}

// NewRequest returns a request for any worker id of the layout in namespace, with the
// defaults: TTL and MaxTTL 30 s, Skew 2 s, and a pool of all workers of the layout.
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

// State is the state of a Keeper.
type State string

// The states of a Keeper.
const (
	Idle        State = "idle"        // not started
	Borrowing   State = "borrowing"   // requests a worker id, at the start or after a loss
	Quarantined State = "quarantined" // requests one, but the center may have forgotten grants and lends none yet
	Holding     State = "holding"     // has a worker id; without ids if its lease has expired: see Keeper.Err
	Stopped     State = "stopped"     // gave the worker id back
)

// Status describes a Keeper at one moment.
type Status struct {
	State   State
	Grant   lease.Grant // the last one, or zero; after a loss its range may still be in use
	Renewed time.Time   // when the center last granted it, by the local clock
	// Losses counts lost leases, and Renewals successful renewals. Failures counts failed
	// attempts to borrow or renew, except losses and quarantines.
	Losses, Renewals, Failures int64
	Err                        error // of the last attempt, or nil after a success
	// FailingSince is when the first attempt after the last success began, if it failed,
	// by the local clock. It is zero while Err is nil.
	FailingSince time.Time
}

// A Keeper borrows a worker id for a generator, renews it and gives it back. Its own methods
// issue the generator's ids, so it is a snowflake.Source. It runs one goroutine between
// Start and Stop. All methods are safe for concurrent use. The zero Keeper is not usable: call
// New or Open.
//
// The loss of a lease does not stop ids at once: the generator may use up its range
// while the Keeper borrows another worker id.
type Keeper struct {
	cfg Config

	// life has an element while Start, Reset or Stop runs, so that they run one at a
	// time. It is not a mutex because testing/synctest does not see goroutines that
	// wait for one.
	life chan struct{}

	mu        sync.Mutex
	status    Status
	at        time.Duration      // the generator's clock at status.Grant.Now
	cancel    context.CancelFunc // ends the loop
	ended     chan struct{}      // closed when the loop has ended
	stopping  bool               // Stop was called
	resets    int                // calls of Reset
	interrupt func(by string)    // ends a Start or Reset under way
	hurry     int                // calls of Reset that wait, and whose context has ended

	early  time.Duration // how long before a time of Schedule to renew
	outage outage

	// Used only by the goroutine that borrows: the caller of Start or Reset, then the
	// loop, then the caller of Stop.
	owner [16]byte    // of the borrow under way; zero if the next has yet to begin
	asked int         // resets before the owner of the borrow or grant was made
	grant lease.Grant // zero if there is none to renew or give back
	lent  snowflake.Range
	pace  pace
	began time.Time // the attempt
}

// New returns a Keeper that has not started. The error contains all faults of cfg.
func New(cfg Config) (*Keeper, error) {
	cfg, errs := cfg.withDefaults()
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
		cfg.Jitter = between
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	k := &Keeper{cfg: cfg, status: Status{State: Idle}, life: make(chan struct{}, 1)}
	if cfg.Schedule != nil {
		k.early = req.TTL/3 - k.jitter(mostly(req.TTL/3))
	}
	return k, nil
}

// ahead returns Request.Ahead. The shortest range borrowed ahead of the clock still
// lasts for a quarter of a second, or for a whole tick of the layout.
func ahead(req lease.Request, l snowflake.Layout) time.Duration {
	least := max(250*time.Millisecond, 3*l.TimeUnit)
	return (req.MaxTTL - min(least, req.MaxTTL/2)).Truncate(time.Millisecond)
}

// Status returns the status of the Keeper.
func (k *Keeper) Status() Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.status
}

// Now returns the center's time, which decides when ids stop: that of the last answer, and
// what has passed since by the generator's clock. It is zero without a Grant.
func (k *Keeper) Now() time.Time {
	elapsed := k.cfg.Generator.Elapsed()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.status.Grant == (lease.Grant{}) {
		return time.Time{}
	}
	return time.UnixMilli(k.status.Grant.Now).Add(max(0, elapsed-k.at))
}

// Start borrows a worker id and begins to renew it. It waits until Wait has passed or
// until slightly before ctx ends, because fx drops start errors after the deadline.
//
// If a worker id arrives when that time is up, Start gives it back, which takes at most 5 s
// more.
//
// A Keeper starts only once. After an error, it holds nothing and may be started again.
// Errors wrap those of Center.Acquire and name the center. Stop interrupts Start.
func (k *Keeper) Start(ctx context.Context) (err error) {
	if !k.enter(ctx) {
		return fmt.Errorf("lease: keeper of namespace %q is busy with another Start, Reset or Stop: %w", k.cfg.Request.Namespace, context.Cause(ctx))
	}
	defer func() { <-k.life }()
	k.mu.Lock()
	if k.status.State != Idle {
		defer k.mu.Unlock()
		return fmt.Errorf("lease: keeper of namespace %q is %v: a keeper starts only once", k.cfg.Request.Namespace, k.status.State)
	}
	k.status.State, k.status.Err, k.status.FailingSince = Borrowing, nil, time.Time{}
	k.mu.Unlock()

	ctx, done := k.untilStop(ctx)
	defer done()
	started := false
	defer func() {
		if !started { // also if the center panics
			k.note(Idle, err)
		}
	}()
	if err = k.borrowAtStart(ctx); err != nil {
		return err
	}
	started = true
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begin(ctx)
	return nil
}

// enter waits for life. It reports false if ctx ended first.
func (k *Keeper) enter(ctx context.Context) bool {
	select {
	case k.life <- struct{}{}:
		return true
	default:
	}
	select {
	case k.life <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// untilStop returns a copy of ctx that also ends when Stop is called, or by interrupt.
func (k *Keeper) untilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.interrupt = func(by string) {
		cancel(fmt.Errorf("lease: keeper of namespace %q was %s meanwhile", k.cfg.Request.Namespace, by))
	}
	switch {
	case k.stopping:
		k.interrupt("stopped")
	case k.hurry > 0:
		k.interrupt("reset")
	}
	return ctx, func() { cancel(nil) }
}

// begin starts the loop. The caller holds mu.
func (k *Keeper) begin(ctx context.Context) {
	loop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k.cancel, k.ended = cancel, make(chan struct{})
	go k.run(loop)
}

func (k *Keeper) borrowAtStart(ctx context.Context) error {
	began := time.Now()
	k.began = began
	if ctx.Err() != nil {
		return k.attempted(began, context.Cause(ctx))
	}
	deadline := began.Add(k.cfg.Wait)
	if end, ok := ctx.Deadline(); ok {
		deadline = earlier(deadline, end.Add(-min(500*time.Millisecond, time.Until(end)/10)))
	}
	within, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	k.owner = [16]byte{}
	k.pace = newPace(k.cfg.Request.TTL)
	var reason error // the last error other than that time is up
	for {
		// A call on a dead connection leaves time for another. It may take half of the
		// time nevertheless, because the store may just be slow.
		final, err := k.borrow(within, min(max(k.pace.patience, time.Until(deadline)/2), k.pace.maxPatience))
		switch {
		case err == nil:
			return nil
		case reason == nil || within.Err() == nil:
			reason = err
		}
		if ctx.Err() != nil {
			return k.attempted(began, interrupted(ctx, reason))
		}
		if final {
			return k.attempted(began, reason)
		}
		k.failed(ctx, "worker id not borrowed; retrying", err)
		// The end of the time is no reason to give up half a pause before it.
		least, most := k.pause(err)
		most = min(most, max(time.Until(deadline)/2, firstPause))
		again := k.jitter(min(least, most), most)
		if !time.Now().Add(max(again, quarantined(err))).Before(deadline) || !sleep(within, again) {
			return k.attempted(began, interrupted(ctx, reason))
		}
	}
}

// interrupted adds to the last error of a start why its context has ended, if it has.
func interrupted(ctx context.Context, last error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(last, cause) {
		return fmt.Errorf("stopped while waiting: %w; the last answer was: %w", cause, last)
	}
	return last
}

// quarantined returns how long the quarantine reported by err lasts, or 0.
func quarantined(err error) time.Duration {
	if q := (*lease.QuarantineError)(nil); errors.As(err, &q) {
		return q.Wait()
	}
	return 0
}

func (k *Keeper) attempted(began time.Time, err error) error {
	return fmt.Errorf("borrow a worker id of namespace %q%s (tried for %v): %w",
		k.cfg.Request.Namespace, k.named(" from ", err), time.Since(began).Round(time.Millisecond), err)
}

// named returns the center after a preposition, unless err names it.
func (k *Keeper) named(preposition string, err error) string {
	name := lease.Name(k.cfg.Center)
	if strings.Contains(err.Error(), name) {
		return ""
	}
	return preposition + name
}

// borrow makes one attempt, which gets patience, and installs the range in the generator.
// An error is final if only a change of configuration helps.
//
// The owner stays the same until a grant is used or given back, so that the attempt after a
// lost answer gets the same grant. After that it is another: a release whose answer was lost
// may still be under way, and would free what the same owner was lent again. After a Reset
// it is another too.
func (k *Keeper) borrow(ctx context.Context, patience time.Duration) (final bool, err error) {
	if k.owner == [16]byte{} || k.copied() { // not sooner: a copy of the process would have it too
		k.mu.Lock()
		k.asked = k.resets // before the owner is made
		k.mu.Unlock()
		k.owner = lease.NewOwner()
	}
	req := k.cfg.Request
	k.began = time.Now()
	req.Owner, req.Local = k.owner, k.began.UnixMilli()
	call, cancel := context.WithTimeout(ctx, patience)
	g, err := k.cfg.Center.Acquire(call, req)
	at := k.cfg.Generator.Elapsed()
	late := call.Err()
	cancel()
	if err == nil && g.Owner != req.Owner {
		err = fmt.Errorf("%w: the center answered a borrow with a grant of another owner, worker id %d, token %d", lease.ErrSetup, g.Worker, g.Token)
	}
	switch {
	case err != nil:
		k.count(err)
		return errors.As(err, new(*lease.MismatchError)) || errors.As(err, new(*lease.ClockError)) || errors.Is(err, lease.ErrSetup), err
	case ctx.Err() != nil: // nobody waits for it
		return true, errors.Join(ctx.Err(), k.decline(ctx, g))
	case late != nil: // as if the answer were lost
		k.count(late)
		return false, late
	}
	if g, err = k.bounded(g, at); err != nil {
		k.owner = [16]byte{} // it would get the same again
		k.count(err)
		return false, err
	}
	lent := rangeOf(g, at)
	if err = k.adopt(lent); err != nil {
		return !errors.Is(err, errReset), errors.Join(err, k.decline(ctx, g))
	}
	k.owner = [16]byte{}
	k.pace.success()
	k.grant, k.lent = g, lent
	former, _ := k.granted(g, at)
	args := []any{"worker", g.Worker, "namespace", g.Namespace, "center", lease.Name(k.cfg.Center), "token", g.Token, "ttl", g.TTL}
	if former != (lease.Grant{}) && former.Worker != g.Worker {
		args = append(args, "former_worker", former.Worker)
	}
	if g.Floor > g.Now { // until the clock has caught up
		args = append(args, "ids_ahead", time.Duration(g.Floor-g.Now)*time.Millisecond)
	}
	k.cfg.Logger.Info("worker id borrowed", args...)
	k.watch(ctx, lent)
	return false, nil
}

// decline gives an unused grant back, unless a copy of the process may use it.
func (k *Keeper) decline(ctx context.Context, g lease.Grant) error {
	k.owner = [16]byte{}
	if k.copied() {
		return nil
	}
	return k.release(ctx, g, g.Floor)
}

// copied reports whether Reset was called since the owner of the borrow or grant was made. A
// copy of the process may then have the same.
func (k *Keeper) copied() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.resets != k.asked
}

var errReset = errors.New("lease: the keeper was reset meanwhile")

// adopt gives the generator a range, unless a copy of the process may have it too: callers
// that wait would get ids of it before Reset could take it away.
func (k *Keeper) adopt(r snowflake.Range) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.resets != k.asked {
		return errReset
	}
	_, err := k.cfg.Generator.Adopt(r)
	return err
}

// granted records a success, and at, the generator's clock at its answer. It returns the
// grant before, and the error of the last attempt.
func (k *Keeper) granted(g lease.Grant, at time.Duration) (former lease.Grant, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	st := &k.status
	former, err = st.Grant, st.Err
	st.State, st.Grant, st.Renewed, st.Err, st.FailingSince = Holding, g, time.Now(), nil, time.Time{}
	k.at = at
	return former, err
}

// count counts a failure. A quarantine is not one: the center says how long to wait.
func (k *Keeper) count(err error) {
	if errors.As(err, new(*lease.QuarantineError)) {
		return
	}
	k.pace.failure()
	k.mu.Lock()
	k.status.Failures++
	k.mu.Unlock()
}

func rangeOf(g lease.Grant, at time.Duration) snowflake.Range {
	return snowflake.Range{Worker: g.Worker, Floor: g.Floor, Ceiling: g.Ceiling, Now: g.Now, At: at}
}

func (k *Keeper) run(ctx context.Context) {
	defer close(k.ended)
	for pause := time.Duration(0); ; {
		if k.grant == (lease.Grant{}) {
			if !sleep(ctx, pause) {
				return
			}
			final, err := k.borrow(ctx, k.pace.patience)
			if err == nil {
				pause = 0
				continue
			}
			k.failed(ctx, "worker id not borrowed; retrying", err)
			if pause = k.jitter(k.pause(err)); final {
				pause = k.jitter(maxPause/2, maxPause)
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

// renew makes one attempt and returns how long to wait before the next. It returns 0
// after a success or a loss.
func (k *Keeper) renew(ctx context.Context) time.Duration {
	patience := k.pace.patience
	if k.left(k.lent) > 0 { // once ids have stopped, there is nothing to hurry for
		patience = min(patience, k.grant.TTL/3)
	}
	k.began = time.Now()
	call, cancel := context.WithTimeout(ctx, patience)
	g, err := k.cfg.Center.Renew(call, k.grant)
	at := k.cfg.Generator.Elapsed()
	cancel()
	if err == nil {
		g, err = k.bounded(g, at)
	}
	switch {
	case err == nil:
		next := rangeOf(g, at)
		if err := k.install(next); err != nil {
			k.pace.failure()
			k.failed(ctx, "renewal not installed", err)
			return k.jitter(k.pause(err))
		}
		k.pace.success()
		if g.Floor != k.grant.Floor {
			k.cfg.Logger.Warn("the center may have forgotten grants; ids continue above them", "worker", g.Worker, "namespace", g.Namespace,
				"token", g.Token, "ahead", time.Duration(g.Floor-g.Now)*time.Millisecond)
		}
		k.grant, k.lent = g, next
		_, before := k.granted(g, at)
		k.mu.Lock()
		k.status.Renewals++
		k.mu.Unlock()
		level := slog.LevelDebug
		if before != nil {
			level = slog.LevelInfo
		}
		k.cfg.Logger.Log(ctx, level, "lease renewed", "worker", g.Worker, "namespace", g.Namespace, "ceiling", time.UnixMilli(g.Ceiling))
		k.watch(ctx, next)
		return 0
	case errors.Is(err, lease.ErrLost), k.uncovered(err):
		if k.uncovered(err) {
			k.cfg.Generator.Drop()
		}
		k.mu.Lock()
		k.status.Losses++
		k.mu.Unlock()
		k.note(Borrowing, err)
		k.cfg.Logger.Warn("lease lost; borrowing another worker id", append(k.prospect(ctx), "token", k.grant.Token, "err", err)...)
		k.grant = lease.Grant{}
		if k.cfg.OnLost != nil {
			k.cfg.OnLost(err)
		}
		return 0
	}
	k.count(err)
	k.failed(ctx, "lease not renewed; retrying", err)
	return k.jitter(k.pause(err))
}

// uncovered reports whether err says that the namespace was pinned anew, after a total loss,
// by a member whose quarantine need not cover the range of this one. A pin without MaxTTL is
// retired or unreadable, and no member lends under it.
func (k *Keeper) uncovered(err error) bool {
	var m *lease.MismatchError
	return errors.As(err, &m) && m.Stored.MaxTTL > 0 && (m.Stored.MaxTTL < k.cfg.Request.MaxTTL || m.Stored.Skew < k.cfg.Request.Skew)
}

func (k *Keeper) install(next snowflake.Range) error {
	if next.Floor != k.lent.Floor {
		return k.adopt(next)
	}
	if !k.cfg.Generator.Extend(k.lent, next) {
		// Somebody else stopped the generator or gave it another range.
		return fmt.Errorf("lease: renewed range %+v does not follow %+v", next, k.lent)
	}
	return nil
}

// prospect returns attributes for the log: whose lease it is, and when ids stop if the
// center does not answer.
func (k *Keeper) prospect(ctx context.Context) []any {
	if !k.cfg.Logger.Enabled(ctx, slog.LevelError) {
		return nil
	}
	args := []any{"namespace", k.cfg.Request.Namespace, "center", lease.Name(k.cfg.Center)}
	if k.grant != (lease.Grant{}) {
		args = append(args, "worker", k.grant.Worker)
	}
	if left := k.left(k.lent); k.cfg.Generator.Err() == nil && left > 0 {
		args = append(args, "ids_stop_at", time.Now().Add(left))
	}
	return args
}

// failed records an error. It logs the first error of a row as a warning and the others at
// debug level. A quarantine ends by itself, so that it is logged as a wait, at info level.
func (k *Keeper) failed(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return // stopping
	}
	k.mu.Lock()
	was, last := k.status.State, k.status.Err
	k.mu.Unlock()
	q, state := (*lease.QuarantineError)(nil), Borrowing
	switch {
	case was == Holding:
		state = Holding
	case errors.As(err, &q):
		state = Quarantined
	}
	k.note(state, err)
	level := slog.LevelDebug
	first := last == nil || errors.Is(last, lease.ErrLost) || state != was
	if q == nil || q.Wait() > 2*(k.cfg.Request.MaxTTL+k.cfg.Request.Skew) { // no member causes such a long one
		if first {
			level = slog.LevelWarn
		}
		k.cfg.Logger.Log(ctx, level, what, append(k.prospect(ctx), "failing_since", k.Status().FailingSince, "err", err)...)
		return
	}
	if first {
		level = slog.LevelInfo
	}
	args := append(k.prospect(ctx), "wait", q.Wait())
	if q.Reason == lease.NothingOnRecord && k.lent == (snowflake.Range{}) {
		if first {
			args = append(args, k.others(ctx)...)
		}
		k.cfg.Logger.Log(ctx, level, "new namespace; waiting for its first worker id",
			append(args, "hint", "if it is not new, check its spelling and which store this is")...)
		return
	}
	k.cfg.Logger.Log(ctx, level, "the center may have forgotten grants; waiting for a worker id",
		append(args, "until", time.Now().Add(q.Wait()), "reason", printable.Text(q.Reason))...)
}

// others returns an attribute for the log with the other namespaces of the center, if it
// tells them soon.
func (k *Keeper) others(ctx context.Context) []any {
	list := k.cfg.Center.Extras().Namespaces
	if list == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	names, err := list(ctx)
	names = slices.DeleteFunc(names, func(n string) bool { return n == k.cfg.Request.Namespace })
	if err != nil || len(names) == 0 {
		return nil
	}
	return []any{"others", names}
}

func (k *Keeper) note(s State, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	st := &k.status
	st.State, st.Err = s, fault.Told(err)
	switch {
	case err == nil:
		st.FailingSince = time.Time{}
	case st.FailingSince.IsZero():
		st.FailingSince = k.began
	}
}

// Reset borrows another worker id for a process that may have been copied with its
// memory, by a restored snapshot or a clone. The copies hold the same grant, so Reset
// abandons it without giving it back. Ids stop and resume under the new worker id. Reset
// waits like Start. If a Start or another Reset is under way, Reset waits for it, and
// interrupts it when ctx ends.
//
// A copy must call Reset before it issues an id or calls Stop, because a Keeper cannot
// detect the copy, and must issue none until Reset returns. A call that waits when Reset
// begins gets ids of the other worker id only; one that runs while the process is copied may
// return the same id in both copies. The abandoned worker id becomes free when its lease
// expires.
//
// After an error, the Keeper keeps trying to borrow a worker id. Resetting a Keeper
// that has not started, or has stopped, is an error.
func (k *Keeper) Reset(ctx context.Context) error {
	k.mu.Lock()
	k.resets++ // before Drop: no answer under way puts back what that takes away
	k.mu.Unlock()
	k.cfg.Generator.Drop()
	if !k.enter(ctx) { // to return now would leave the grant in use
		k.mu.Lock()
		k.hurry++
		if k.interrupt != nil {
			k.interrupt("reset")
		}
		k.mu.Unlock()
		k.life <- struct{}{}
		k.mu.Lock()
		k.hurry--
		k.mu.Unlock()
	}
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
	<-ended // soon: a Center returns when its context ends
	k.abandon()
	k.mu.Lock()
	k.status.State, k.status.Grant, k.status.Err, k.status.FailingSince = Borrowing, lease.Grant{}, nil, time.Time{}
	k.mu.Unlock()
	defer func() { // also if the center panics
		k.mu.Lock()
		defer k.mu.Unlock()
		if !k.stopping {
			k.begin(ctx)
		}
	}()
	err := k.borrowAtStart(ctx)
	if err != nil {
		k.note(Borrowing, err)
	}
	return err
}

// abandon forgets the grant, which a copy of the process may use.
func (k *Keeper) abandon() {
	k.cfg.Logger.Warn("reset; worker id abandoned, not given back", "worker", k.grant.Worker,
		"namespace", k.cfg.Request.Namespace, "token", k.grant.Token)
	k.grant = lease.Grant{}
}

// Stop ends renewing, then ends issuing for good, then gives the worker id back. It
// takes at most 5 s, even if ctx has ended, and interrupts a Start or Reset under way.
// An error means that the worker id was not given back; it becomes free when its lease
// expires. A second Stop does nothing.
func (k *Keeper) Stop(ctx context.Context) error {
	k.mu.Lock()
	k.stopping = true
	if k.interrupt != nil {
		k.interrupt("stopped")
	}
	k.mu.Unlock()
	// A Start or Reset that holds life has at most one release left to wait for. If it
	// waits for that, it leaves nothing to give back.
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
		<-ended // soon: a Center returns when its context ends
	}
	k.began = time.Now()
	err := k.giveBack(ctx)
	k.note(Stopped, err)
	return err
}

func (k *Keeper) giveBack(ctx context.Context) error {
	mine := k.cfg.Generator.Extend(k.lent, k.lent) // changes nothing, and fails if the range is another
	lastUsed := k.cfg.Generator.Stop()
	g := k.grant
	k.outage.end()
	switch {
	case g == (lease.Grant{}):
		return nil
	case k.copied():
		k.abandon()
		return nil
	case !mine || lastUsed == 0: // the caller stopped the generator, or gave it another range
		lastUsed = g.Ceiling
	}
	k.grant = lease.Grant{}
	err := k.release(ctx, g, lastUsed)
	if err != nil {
		err = fmt.Errorf("give worker id %d of namespace %q back%s: %w", g.Worker, g.Namespace, k.named(" to ", err), err)
		k.cfg.Logger.Warn("worker id not given back; free when its lease expires", "worker", g.Worker,
			"namespace", g.Namespace, "expires", time.UnixMilli(g.Ceiling), "err", err)
		return err
	}
	k.cfg.Logger.Info("worker id given back", "worker", g.Worker, "namespace", g.Namespace, "center", lease.Name(k.cfg.Center))
	return nil
}

// release retries for releaseTimeout, even if ctx has ended: a stopping process has
// little time. It does not retry what cannot get better.
func (k *Keeper) release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, releaseTimeout/5) {
		err := k.cfg.Center.Release(call, g, lastUsed)
		if err == nil || errors.Is(err, lease.ErrLost) {
			return nil
		}
		if errors.Is(err, lease.ErrSetup) || errors.As(err, new(*lease.MismatchError)) || !sleep(call, k.jitter(pause/2, pause)) {
			return err
		}
	}
}

const (
	releaseTimeout = 5 * time.Second // many processes may stop at once
	maxPause       = 5 * time.Second
)

// retry returns a delay that is short beside TTL.
func (k *Keeper) retry() time.Duration { return min(time.Second, k.cfg.Request.TTL/10) }

// pause returns the shortest and the longest pause after an error. A quarantine lasts
// until it ends, plus what spreads the replicas. A Keeper that may borrow ahead of the
// clock asks more often: the center notices another loss, and begins its quarantine,
// only when somebody asks.
func (k *Keeper) pause(err error) (least, most time.Duration) {
	if q := (*lease.QuarantineError)(nil); errors.As(err, &q) {
		longest := maxPause
		if k.cfg.Request.Ahead > 0 {
			longest = time.Second / 2
		}
		d := max(10*time.Millisecond, min(q.Wait(), longest))
		return d, d + k.retry()/10
	}
	d := k.pace.pause
	if full := (*lease.NoFreeWorkerError)(nil); errors.As(err, &full) {
		d = max(d, min(full.Wait(), maxPause))
	}
	return d / 2, d
}

// untilRenewal returns how long to wait after a success. A range that begins ahead of
// the clock is short at first and grows with each renewal until the clock catches up.
func (k *Keeper) untilRenewal() time.Duration {
	g := k.grant
	left := time.Duration(g.Ceiling-max(g.Floor, g.Now)) * time.Millisecond
	d := min(g.TTL/3, max(left/2, k.retry()/10))
	if s := k.cfg.Schedule; s != nil {
		// The schedule follows the wall clock, which may step. It never delays a
		// renewal that the lease needs.
		from := time.Now().Add(k.early)
		if next := s.Next(from); next.After(from) && next.Sub(from) <= d {
			return next.Sub(from) // no jitter, so that each point gets one renewal
		}
	}
	return k.jitter(mostly(d))
}

// jitter is never 0, which would mean no pause.
func (k *Keeper) jitter(least, most time.Duration) time.Duration {
	return max(1, k.cfg.Jitter(least, most))
}

// mostly returns d less a tenth, and d.
func mostly(d time.Duration) (least, most time.Duration) { return d - d/10, d }

func between(least, most time.Duration) time.Duration { return least + rand.N(most-least+1) }

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
