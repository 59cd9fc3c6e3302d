package engine_test

import (
	"context"
	"errors"
	"flag"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/snowlease/snowlease/internal/engine"
	"github.com/snowlease/snowlease/internal/hostclock"
	"github.com/snowlease/snowlease/internal/test/edit"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // tests mostly wait; -parallel overrides this
	goleak.VerifyTestMain(m)
}

func request(namespace string) lease.Request {
	return lease.Request{
		Namespace: namespace, Layout: "l", Holder: "h", Owner: lease.NewOwner(),
		Pool: 4, Last: 3, TTL: time.Minute, MaxTTL: time.Minute, Skew: time.Second,
	}
}

// parts is a SplitStore in memory with the faults of leasetest.
type parts struct {
	still bool // only Sleep moves the clock of its callers' host

	mu           sync.Mutex
	values       map[string]map[string]string
	run          int
	now          time.Time
	loads, swaps int
	before       func() // runs before the next Swap
	failure      error  // of the next Swap, after it took effect
}

func newParts(still bool) *parts {
	return &parts{still: still, values: map[string]map[string]string{}, now: time.UnixMilli(1_800_000_000_000)}
}

func (*parts) String() string { return "parts" }

func (p *parts) Load(_ context.Context, namespace string) (map[string]string, string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loads++
	return maps.Clone(p.values[namespace]), strconv.Itoa(p.run), nil
}

func (p *parts) Swap(_ context.Context, namespace string, was, is map[string]string) (string, error) {
	p.mu.Lock()
	before := p.before
	p.before = nil
	p.mu.Unlock()
	if before != nil {
		before()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swaps++
	for name, value := range was {
		if p.values[namespace][name] != value {
			return strconv.Itoa(p.run), engine.ErrChanged
		}
	}
	if p.values[namespace] == nil {
		p.values[namespace] = map[string]string{}
	}
	maps.Copy(p.values[namespace], is)
	err := p.failure
	p.failure = nil
	return strconv.Itoa(p.run), err
}

func (p *parts) Center(testing.TB) lease.Center {
	c := engine.NewSplit(p)
	if p.still {
		return byHost{c, p, new(time.Duration)}
	}
	return c
}

// byHost is a center whose callers are on a host with the clock of p, or one that is off.
type byHost struct {
	lease.Center
	p   *parts
	off *time.Duration
}

func (c byHost) on(ctx context.Context) context.Context {
	return hostclock.With(ctx, func() time.Time {
		c.p.mu.Lock()
		defer c.p.mu.Unlock()
		return c.p.now.Add(*c.off)
	})
}

func (c byHost) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	return c.Center.Acquire(c.on(ctx), req)
}

func (c byHost) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	return c.Center.Renew(c.on(ctx), g)
}

func (c byHost) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	return c.Center.Release(c.on(ctx), g, lastUsed)
}

func (c byHost) Extras() lease.Extras {
	e := c.Center.Extras()
	e.Lister, e.Operator = c, operatorByHost{e.Operator, c}
	e.Init = func(ctx context.Context, req lease.Request) error { return c.Center.Extras().Init(c.on(ctx), req) }
	return e
}

func (c byHost) Slots(ctx context.Context, namespace string) ([]lease.Slot, error) {
	return c.Center.Extras().Lister.Slots(c.on(ctx), namespace)
}

type operatorByHost struct {
	lease.Operator
	c byHost
}

func (o operatorByHost) Record(ctx context.Context, namespace string) (lease.Record, error) {
	return o.Operator.Record(o.c.on(ctx), namespace)
}

func (o operatorByHost) Quarantine(ctx context.Context, namespace, reason string) (lease.Record, error) {
	return o.Operator.Quarantine(o.c.on(ctx), namespace, reason)
}

func (o operatorByHost) Revoke(ctx context.Context, namespace string, worker, token int64) error {
	return o.Operator.Revoke(o.c.on(ctx), namespace, worker, token)
}

func (o operatorByHost) Retire(ctx context.Context, namespace, reason string) error {
	return o.Operator.Retire(o.c.on(ctx), namespace, reason)
}

func (p *parts) Sleep(d time.Duration) {
	p.mu.Lock()
	p.now = p.now.Add(d)
	p.mu.Unlock()
	if !p.still {
		time.Sleep(d)
	}
}

func (p *parts) Wipe(testing.TB) {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.values)
}

func (p *parts) Snapshot(testing.TB) (restore func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	save := func(from map[string]map[string]string) map[string]map[string]string {
		to := map[string]map[string]string{}
		for namespace, values := range from {
			to[namespace] = maps.Clone(values)
		}
		return to
	}
	kept := save(p.values)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.values = save(kept)
	}
}

func (p *parts) Reincarnate(testing.TB) { p.become(1) }
func (p *parts) Flip(testing.TB)        { p.become(-1) }

func (p *parts) become(by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run += by
}

func (p *parts) Drop(t testing.TB, namespace string, what leasetest.Records) {
	p.mu.Lock()
	defer p.mu.Unlock()
	leasetest.DropPart(t, p.values[namespace], what)
}

func (p *parts) Edit(t testing.TB, namespace string, worker int64, field, value string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	edit.Part(t, p.values[namespace], worker, field, value)
	return true
}

func (p *parts) Delete(_ testing.TB, namespace string, worker int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.values[namespace], edit.Name(worker))
}

func (p *parts) Traits() leasetest.Traits {
	return leasetest.Traits{LeastRecentlyUsed: true, Incarnation: true, RenewsAlone: true, StandsStill: p.still}
}

func TestContractOfParts(t *testing.T) {
	t.Parallel()
	leasetest.Run(t, func(testing.TB) leasetest.Store { return newParts(true) })
}

func TestOperatorOfParts(t *testing.T) {
	t.Parallel()
	leasetest.RunOperator(t, func(testing.TB) leasetest.Store { return newParts(true) })
}

// afterQuarantine borrows, is refused during a quarantine, and borrows at its end.
func afterQuarantine(t *testing.T, p *parts, c lease.Center, req lease.Request) lease.Grant {
	t.Helper()
	quarantine := (*lease.QuarantineError)(nil)
	_, err := c.Acquire(t.Context(), req)
	require.ErrorAs(t, err, &quarantine)
	p.Sleep(quarantine.Wait())
	g, err := c.Acquire(t.Context(), req)
	require.NoError(t, err)
	return g
}

// lentByParts returns a grant of an open namespace, and its center.
func lentByParts(t *testing.T, p *parts) (lease.Center, lease.Grant) {
	t.Helper()
	c := p.Center(t)
	require.NoError(t, c.Extras().Init(t.Context(), request("orders")))
	g, err := c.Acquire(t.Context(), request("orders"))
	require.NoError(t, err)
	return c, g
}

func TestPartsAreReadAndWrittenOnce(t *testing.T) {
	t.Parallel()
	p := newParts(false)
	c := p.Center(t)
	require.NoError(t, c.Extras().Init(t.Context(), request("orders")))
	cost := func(do func()) [2]int {
		loads, swaps := p.loads, p.swaps
		do()
		return [2]int{p.loads - loads, p.swaps - swaps}
	}
	var g lease.Grant
	require.Equal(t, [2]int{1, 1}, cost(func() {
		var err error
		g, err = c.Acquire(t.Context(), request("orders"))
		require.NoError(t, err)
	}), "a borrow")
	for range 3 {
		require.Equal(t, [2]int{0, 1}, cost(func() {
			var err error
			g, err = c.Renew(t.Context(), g)
			require.NoError(t, err)
		}), "a renewal")
	}
	time.Sleep(2 * time.Millisecond) // so that there is something to write
	require.Equal(t, [2]int{1, 1}, cost(func() {
		_, err := p.Center(t).Renew(t.Context(), g)
		require.NoError(t, err)
	}), "a renewal by another process, which knows nothing")
	time.Sleep(2 * time.Millisecond)
	require.Equal(t, [2]int{1, 2}, cost(func() {
		var err error
		g, err = c.Renew(t.Context(), g)
		require.NoError(t, err)
	}), "a renewal after another process wrote the record")
	require.Equal(t, [2]int{1, 1}, cost(func() { require.NoError(t, c.Release(t.Context(), g, g.Floor)) }), "a release")
}

// Processes that borrow and renew different worker ids at the same time do not get in each
// other's way, except over a worker id that is lent for the first time.
func TestPartsOfOthersMayChange(t *testing.T) {
	t.Parallel()
	p := newParts(true)
	c, g := lentByParts(t, p)
	other, err := p.Center(t).Acquire(t.Context(), request("orders"))
	require.NoError(t, err)
	p.before = func() {
		p.now = p.now.Add(time.Second)
		_, err := p.Center(t).Renew(t.Context(), other)
		require.NoError(t, err)
	}
	p.Sleep(time.Second)
	loads := p.loads
	_, err = c.Renew(t.Context(), g)
	require.NoError(t, err)
	require.Equal(t, loads+2, p.loads)
}

// Two processes that ask at once get different worker ids, whichever writes first.
func TestPartsLostRace(t *testing.T) {
	t.Parallel()
	for _, lent := range []bool{false, true} { // the worker id was lent before
		p := newParts(true)
		c, g := lentByParts(t, p)
		if lent {
			require.NoError(t, c.Release(t.Context(), g, g.Floor))
			p.Sleep(time.Second)
		}
		one := request("orders")
		one.First, one.Last = g.Worker, g.Worker
		if !lent {
			one.First, one.Last = 1-g.Worker, 1-g.Worker
		}
		var first lease.Grant
		p.before = func() {
			var err error
			first, err = p.Center(t).Acquire(t.Context(), one)
			require.NoError(t, err)
		}
		again := one
		again.Owner = lease.NewOwner()
		_, err := c.Acquire(t.Context(), again)
		require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))
		require.NotZero(t, first.Token)
	}
}

// A quarantine that begins between the read and the write of a borrow stops it.
func TestPartsMetaChanges(t *testing.T) {
	t.Parallel()
	p := newParts(true)
	c, g := lentByParts(t, p)
	require.NoError(t, c.Release(t.Context(), g, g.Floor))
	p.Sleep(time.Second)
	p.before = func() {
		_, err := p.Center(t).Extras().Operator.Quarantine(t.Context(), "orders", "by hand")
		require.NoError(t, err)
	}
	req := request("orders")
	req.First, req.Last = g.Worker, g.Worker
	_, err := c.Acquire(t.Context(), req)
	require.ErrorAs(t, err, new(*lease.QuarantineError))
}

// A lost part that was never used begins one quarantine, not one with each call.
func TestPartsAreMadeWhole(t *testing.T) {
	t.Parallel()
	p := newParts(true)
	c := p.Center(t)
	require.NoError(t, c.Extras().Init(t.Context(), request("orders")))
	p.Drop(t, "orders", leasetest.OneMark)
	var first, second *lease.QuarantineError
	_, err := c.Acquire(t.Context(), request("orders"))
	require.ErrorAs(t, err, &first)
	p.Sleep(time.Second)
	_, err = c.Acquire(t.Context(), request("orders"))
	require.ErrorAs(t, err, &second)
	require.Equal(t, first.Until, second.Until)
}

// What an operator does elsewhere in the namespace does not hide that a part lost its content.
func TestPartsLossOutlastsAnOperator(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{`{}`, `{"expires":1,"mark":null,"token":1}`, `{"expires":null,"mark":1,"token":1}`} {
		p := newParts(true)
		c, forgotten := lentByParts(t, p)
		g, err := c.Acquire(t.Context(), request("orders"))
		require.NoError(t, err)
		values, part := p.values["orders"], strconv.FormatInt(g.Worker, 10)
		values[strconv.FormatInt(forgotten.Worker, 10)] = lost
		was := values[part]
		require.NoError(t, c.Extras().Operator.Revoke(t.Context(), "orders", g.Worker, g.Token))
		require.NotEqual(t, was, values[part])
		_, err = c.Acquire(t.Context(), request("orders"))
		quarantine := (*lease.QuarantineError)(nil)
		require.ErrorAs(t, err, &quarantine, lost)
		require.Contains(t, quarantine.Reason, "1 of 4")
	}
}

// A quarantine ends the extension of a range, even if the record of the worker id stays.
func TestPartsRenewalAfterMetaChanges(t *testing.T) {
	t.Parallel()
	p := newParts(false)
	c, g := lentByParts(t, p)
	_, err := p.Center(t).Extras().Operator.Quarantine(t.Context(), "orders", "by hand")
	require.NoError(t, err)
	_, err = c.Renew(t.Context(), g)
	require.ErrorAs(t, err, new(*lease.QuarantineError))
}

// After a restore, revisions of a store recur with other content. A renewal that knows only
// the record as it was does not overwrite the grant of another.
func TestPartsRenewalAfterARestore(t *testing.T) {
	t.Parallel()
	p := newParts(false)
	c := p.Center(t)
	req := request("orders")
	req.TTL, req.MaxTTL, req.Skew = 200*time.Millisecond, 200*time.Millisecond, 20*time.Millisecond
	require.NoError(t, c.Extras().Init(t.Context(), req))
	restore := p.Snapshot(t)
	req.Last = 0
	g, err := c.Acquire(t.Context(), req)
	require.NoError(t, err)
	restore()
	other := req
	other.Owner = lease.NewOwner()
	_, err = p.Center(t).Acquire(t.Context(), other)
	require.NoError(t, err)
	_, err = c.Renew(t.Context(), g)
	require.ErrorIs(t, err, lease.ErrLost)
}

// A renewal that reached another server is repeated there with a look at all records.
func TestPartsRenewalOnAnotherServer(t *testing.T) {
	t.Parallel()
	p := newParts(false)
	c, g := lentByParts(t, p)
	p.before = func() { p.become(1) }
	_, err := c.Renew(t.Context(), g)
	require.ErrorAs(t, err, new(*lease.QuarantineError))
}

// A borrow that read from one server and wrote to another is not used, not even when the
// same owner asks again.
func TestPartsBorrowAcrossARestore(t *testing.T) {
	t.Parallel()
	p := newParts(true)
	c := p.Center(t)
	req := request("orders")
	req.MaxLead = req.MaxTTL
	require.NoError(t, c.Extras().Init(t.Context(), req))
	p.before = func() { p.become(1) }
	_, err := c.Acquire(t.Context(), req)
	require.ErrorContains(t, err, "another server answered")
	_, err = c.Acquire(t.Context(), req)
	quarantine := (*lease.QuarantineError)(nil)
	require.ErrorAs(t, err, &quarantine)
	p.Sleep(quarantine.Wait())
	g, err := c.Acquire(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, p.now.Add(req.MaxTTL).UnixMilli()-1, g.Floor, "above the quarantine")
}

// A borrow that wrote to another server than it read from meets a grant that this server has
// forgotten. The owner asks again, and gets a range above that grant, even if another process
// has noticed the loss meanwhile, or the answer to the write was lost.
func TestPartsBorrowAboveAForgottenGrant(t *testing.T) {
	t.Parallel()
	for _, then := range []string{"another process notices", "the answer is lost"} {
		t.Run(then, func(t *testing.T) {
			t.Parallel()
			p := newParts(false)
			req := request("orders")
			req.Last, req.Skew, req.MaxLead = 0, 0, req.MaxTTL
			c := p.Center(t)
			require.NoError(t, c.Extras().Init(t.Context(), req))
			another := func() (lease.Grant, error) {
				r := req
				r.Owner = lease.NewOwner()
				return p.Center(t).Acquire(t.Context(), r)
			}
			var forgotten lease.Grant
			p.before = func() {
				restore := p.Snapshot(t)
				var err error
				forgotten, err = another()
				require.NoError(t, err)
				restore()
				p.become(1)
				if then == "the answer is lost" {
					p.failure = errors.New("connection reset")
				}
			}
			_, err := c.Acquire(t.Context(), req)
			require.Error(t, err)
			if then == "another process notices" {
				_, err = another()
				require.Error(t, err)
			}
			var g lease.Grant
			require.Eventually(t, func() bool { // ranges begin a millisecond ahead of the quarantine's end
				g, err = c.Acquire(t.Context(), req)
				return err == nil
			}, 10*time.Second, time.Millisecond)
			require.GreaterOrEqual(t, g.Floor, forgotten.Ceiling)
		})
	}
}

// Simulations give the center the clock of a simulated host.
func TestPartsHostClock(t *testing.T) {
	t.Parallel()
	p := newParts(false)
	c := p.Center(t)
	now := time.UnixMilli(1_900_000_000_000)
	ctx := hostclock.With(t.Context(), func() time.Time { return now })
	req := request("orders")
	req.CallerTime = 0
	require.NoError(t, c.Extras().Init(ctx, req))
	g, err := c.Acquire(ctx, req)
	require.NoError(t, err)
	require.Equal(t, now.UnixMilli(), g.Now)
	now = now.Add(time.Second)
	g, err = c.Renew(ctx, g)
	require.NoError(t, err)
	require.Equal(t, now.UnixMilli(), g.Now)
	require.Equal(t, 4, p.swaps, "Init in two steps, the borrow, and the renewal alone")
}

// The first call of a namespace finds nothing, and pauses before a write. Meanwhile the namespace
// is used for an hour, and its records are lost again, so there is nothing as before. The
// quarantine counts from after the pause.
func TestPartsFirstCallPauses(t *testing.T) {
	t.Parallel()
	for _, at := range []struct {
		write     int
		announced bool // by another call, which failed then
	}{{0, false}, {1, false}, {1, true}} {
		p := newParts(true)
		req := request("orders")
		req.Last, req.MaxLead = 0, req.MaxTTL
		var live lease.Grant
		p.before = func() {
			pause := func() {
				other, r := p.Center(t), req
				r.Owner = lease.NewOwner()
				live = afterQuarantine(t, p, other, r)
				var err error
				for range 120 {
					p.Sleep(30 * time.Second)
					live, err = other.Renew(t.Context(), live)
					require.NoError(t, err)
				}
				p.Wipe(t)
				if at.announced {
					p.failure = errors.New("connection reset")
					_, err = other.Acquire(t.Context(), r)
					require.ErrorContains(t, err, "connection reset")
				}
			}
			if at.write == 0 {
				pause()
			} else {
				p.before = pause
			}
		}
		quarantine := (*lease.QuarantineError)(nil)
		_, err := p.Center(t).Acquire(t.Context(), req)
		require.ErrorAs(t, err, &quarantine)
		require.NotZero(t, live)
		p.Sleep(quarantine.Wait())
		g, err := p.Center(t).Acquire(t.Context(), req)
		require.NoError(t, err)
		require.GreaterOrEqual(t, g.Floor, live.Ceiling, "%+v", at)
	}
}

func TestPartsOutcomeUnknown(t *testing.T) {
	t.Parallel()
	away := errors.New("connection reset")
	p := newParts(false)
	c, g := lentByParts(t, p)
	p.failure = away
	_, err := c.Renew(t.Context(), g)
	require.ErrorIs(t, err, away)
	require.ErrorContains(t, err, `namespace "orders" in parts`)
	renewed, err := c.Renew(t.Context(), g)
	require.NoError(t, err)
	require.GreaterOrEqual(t, renewed.Ceiling, g.Ceiling)
}

// TestClocksOfCallersMinutesApart borrows, renews and gives back by callers whose clocks
// differ by up to an hour and step. A store without a clock of its own lends by these.
func TestClocksOfCallersMinutesApart(t *testing.T) {
	t.Parallel()
	type span struct {
		floor, ceiling int64
		owner          [16]byte
	}
	p, random := newParts(true), rand.New(rand.NewPCG(1, 2))
	callers := make([]lease.Center, 5)
	offsets := make([]time.Duration, len(callers))
	for i := range callers {
		callers[i] = byHost{engine.NewSplit(p), p, &offsets[i]}
	}
	req := request("orders")
	require.NoError(t, callers[0].Extras().Init(t.Context(), req))
	lent := map[int64][]span{}
	held := map[[16]byte]lease.Grant{}
	note := func(g lease.Grant) {
		for _, s := range lent[g.Worker] {
			require.False(t, s.owner != g.Owner && s.floor < g.Ceiling && g.Floor < s.ceiling, "%d: (%d, %d] and (%d, %d]", g.Worker, s.floor, s.ceiling, g.Floor, g.Ceiling)
		}
		lent[g.Worker] = append(lent[g.Worker], span{g.Floor, g.Ceiling, g.Owner})
		held[g.Owner] = g
	}
	stolen := 0
	for range 3000 {
		i := random.IntN(len(callers))
		switch random.IntN(6) {
		case 0:
			offsets[i] = time.Duration(random.Int64N(int64(2*time.Hour))) - time.Hour
		case 1, 2:
			req.Owner = lease.NewOwner()
			if g, err := callers[i].Acquire(t.Context(), req); err == nil {
				note(g)
			}
		case 3, 4:
			for _, g := range held {
				renewed, err := callers[i].Renew(t.Context(), g)
				if errors.Is(err, lease.ErrLost) {
					stolen++
				} else {
					require.NoError(t, err)
					note(renewed)
				}
				break
			}
		case 5:
			for owner, g := range held {
				used := g.Floor + random.Int64N(g.Ceiling-g.Floor+1)
				delete(held, owner)
				for at, s := range lent[g.Worker] {
					if s.owner == owner {
						lent[g.Worker][at].ceiling = min(s.ceiling, used)
					}
				}
				if err := callers[i].Release(t.Context(), g, used); err != nil {
					require.ErrorIs(t, err, lease.ErrLost)
				}
				break
			}
		}
		p.Sleep(time.Duration(random.Int64N(int64(20 * time.Second))))
	}
	require.Positive(t, stolen)
	require.Greater(t, len(lent[0]), 50)
}

// A caller with a fast clock that notices a loss keeps all others waiting, until the record of
// the namespace is deleted.
func TestQuarantineByAFastCaller(t *testing.T) {
	t.Parallel()
	p := newParts(true)
	fast, right := 365*24*time.Hour, time.Duration(0)
	ahead, c := byHost{engine.NewSplit(p), p, &fast}, byHost{engine.NewSplit(p), p, &right}
	req := request("orders")
	req.MaxLead = req.MaxTTL
	_, err := ahead.Acquire(t.Context(), req) // of a namespace that nobody has opened
	require.ErrorAs(t, err, new(*lease.QuarantineError))
	quarantine := (*lease.QuarantineError)(nil)
	_, err = c.Acquire(t.Context(), req)
	require.ErrorAs(t, err, &quarantine)
	require.Greater(t, quarantine.Wait(), fast-time.Hour)
	p.Delete(t, "orders", -1)
	afterQuarantine(t, p, c, req)
}

// All records are lost. A first call finds nothing, and does not get to decide. Init does not
// take what it left for a new namespace.
func TestPartsInitBesideAFirstCall(t *testing.T) {
	t.Parallel()
	p := newParts(true)
	req := request("orders")
	req.Last, req.MaxLead = 0, req.MaxTTL
	c := p.Center(t)
	require.NoError(t, c.Extras().Init(t.Context(), req))
	live, err := c.Acquire(t.Context(), req)
	require.NoError(t, err)
	p.Sleep(time.Second)
	p.Wipe(t)
	req.Owner = lease.NewOwner()
	p.failure = errors.New("connection reset") // after the first write
	_, err = c.Acquire(t.Context(), req)
	require.ErrorContains(t, err, "connection reset")
	require.ErrorIs(t, c.Extras().Init(t.Context(), req), lease.ErrExists)
	g := afterQuarantine(t, p, c, req)
	require.GreaterOrEqual(t, g.Floor, live.Ceiling)
}

// Init finds nothing and pauses before a write. Others open the namespace and lend, and lose a
// part of it. Init does not complete what is left.
func TestPartsInitBesideAPartialLoss(t *testing.T) {
	t.Parallel()
	for _, pauses := range []int{1, 2} { // before which write
		p := newParts(true)
		req := request("orders")
		var held lease.Grant
		lose := func() {
			other, r := p.Center(t), req
			r.First, r.Last, r.Owner = 0, 0, lease.NewOwner()
			held = afterQuarantine(t, p, other, r)
			r.First, r.Last, r.Owner = 1, 1, lease.NewOwner()
			_, err := other.Acquire(t.Context(), r)
			require.NoError(t, err)
			delete(p.values["orders"], "meta")
			delete(p.values["orders"], "0")
		}
		p.before = lose
		if pauses == 2 {
			p.before = func() { p.before = lose }
		}
		c := p.Center(t)
		require.ErrorIs(t, c.Extras().Init(t.Context(), req), lease.ErrExists)

		req.First, req.Last = 0, 0
		next := afterQuarantine(t, p, c, req)
		require.GreaterOrEqual(t, next.Floor, held.Ceiling)
	}
}

// A borrow pauses before its write. Meanwhile the namespace is used, lost, and created anew by
// another Init. The write fails, although the record of the namespace says the same as before.
func TestPartsBorrowAcrossTwoInits(t *testing.T) {
	t.Parallel()
	p := newParts(true)
	req := request("orders")
	req.Last = 0
	c := p.Center(t)
	require.NoError(t, c.Extras().Init(t.Context(), req))
	var last lease.Grant
	p.before = func() {
		other, r := p.Center(t), req
		r.Owner = lease.NewOwner()
		p.Sleep(10 * time.Millisecond)
		var err error
		last, err = other.Acquire(t.Context(), r)
		require.NoError(t, err)
		for range 120 {
			p.Sleep(10 * time.Second)
			last, err = other.Renew(t.Context(), last)
			require.NoError(t, err)
		}
		require.NoError(t, other.Release(t.Context(), last, last.Ceiling))
		p.Sleep(24 * time.Hour)
		p.Wipe(t)
		require.NoError(t, other.Extras().Init(t.Context(), r))
	}
	g, err := c.Acquire(t.Context(), req)
	require.NoError(t, err)
	require.GreaterOrEqual(t, g.Floor, last.Ceiling)
}
