package simulate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// WorkerIDs is the subject of a run whose processes borrow worker ids and make ids
// with them. A zero field other than Store selects the product's own.
type WorkerIDs struct {
	Store func() (Store, error) // NewMemory, NewRedis, NewSQLite, NewEtcd
	// Center makes the center of one process. It runs beyond the network: a client of
	// the store takes its round trips itself.
	Center func(Store, *Host) (lease.Center, error)
	// Holder wraps the center, as a process reaches it through the network, for use by
	// the process.
	Holder func(lease.Center) lease.Center
	// Process makes what runs on a node.
	Process func(*Host) (Process, error)
}

// A Process borrows a worker id and makes ids.
type Process interface {
	Start(ctx context.Context) error
	// Issue fills dst with ids. On error, dst is all zero.
	Issue(ctx context.Context, dst []int64) error
	Stop(ctx context.Context) error
	// Holding reports whether it has a worker id.
	Holding() bool
}

// A Host is the world as a process sees it.
type Host struct {
	Request lease.Request // without Owner and Local
	Layout  snowflake.Layout
	Ahead   time.Duration
	Wait    time.Duration
	Exact   bool         // keeper.Config.ExactTimes
	Center  lease.Center // through the network

	p *process
}

// Wall returns the host's wall clock.
func (h *Host) Wall() time.Time { return h.p.node.clock.now() }

// worker is the product: a generator and its keeper.
type worker struct {
	generator *generator.Generator
	keeper    *keeper.Keeper
}

func NewProcess(h *Host) (Process, error) {
	g := generator.New(h.Layout, generator.WithClock(h.p.elapsed), generator.WithMaxAhead(h.Ahead))
	k := keeper.New(keeper.Config{
		Center: h.Center, Generator: g, Request: h.Request,
		Wait: h.Wait, ExactTimes: h.Exact, Jitter: h.p.jitter,
	})
	return &worker{g, k}, nil
}

func (w *worker) Start(ctx context.Context) error { return w.keeper.Start(ctx) }
func (w *worker) Stop(ctx context.Context) error  { return w.keeper.Stop(ctx) }
func (w *worker) Holding() bool                   { return w.keeper.Status().State == keeper.Holding }

func (w *worker) Issue(ctx context.Context, dst []int64) (err error) {
	if len(dst) > 1 {
		return w.generator.NextIDs(ctx, dst)
	}
	dst[0], err = w.generator.NextID()
	return err
}

// leases are the worker ids of a world.
type leases struct {
	WorkerIDs
	w      *world
	store  Store
	ledger *ledger
	loss   time.Duration // when records were last lost
}

// open makes the store and opens the namespace with the product's center.
func (s WorkerIDs) open(w *world) (subject, error) {
	store, err := s.Store()
	if err != nil {
		return nil, err
	}
	if s.Process == nil {
		s.Process = NewProcess
	}
	if s.Center == nil {
		s.Center = Store.Center
	}
	w.stores = []Store{store}
	l := &leases{WorkerIDs: s, w: w, store: store, ledger: &ledger{loans: map[int64][]*loan{}, byToken: map[tokenOf]*loan{}}}
	if w.plan.New {
		return l, nil
	}
	c, err := store.Center(&Host{Layout: w.plan.Layout, Ahead: w.plan.Ahead})
	if err != nil {
		return nil, err
	}
	req := w.plan.request(w.plan.times(w.plan.Opened))
	req.Owner[0] = 1
	w.fail(c.Extras().Init(context.Background(), req))
	return l, nil
}

func (p Plan) request(t Times) lease.Request {
	return lease.Request{
		Namespace: namespace, Layout: p.Layout.String(), Holder: "simulated",
		Pool: p.Pool, Last: p.Pool - 1, TTL: t.TTL, MaxTTL: t.MaxTTL, Skew: t.Skew,
	}
}

func (l *leases) follow(func(time.Duration, func())) {}
func (l *leases) healed()                            { l.overdue() }

func (l *leases) look(compare bool) {
	slots, err := l.store.Slots()
	l.w.fail(err)
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if !compare {
		l.ledger.slots = slots
	} else if wrong := l.ledger.seen(slots); wrong != "" {
		l.w.broken(MarkFell, "%s", wrong)
	}
}

// room returns how many worker ids can be lent.
func (l *leases) room() int { return int(l.w.plan.Pool) }

// A borrower is a process with a record of what it has borrowed. Its fields are
// guarded by world.mu.
type borrower struct {
	Process
	*process
	l       *leases
	grants  []grant
	without time.Duration // when its ids ended; 0: it has ids
}

// A grant is one that the process got.
type grant struct {
	worker, floor, ceiling int64
	loan                   *loan
}

func (l *leases) program(p *process) (program, error) {
	plan := l.w.plan
	l.w.mu.Lock()
	times := plan.times(p.node.times)
	l.w.mu.Unlock()
	if p.node.times == 0 {
		times.TTL = plan.Nodes[p.node.index].TTL
	}
	host := &Host{
		Request: plan.request(times), Layout: plan.Layout, Ahead: plan.Ahead,
		Wait: plan.Wait, Exact: plan.Nodes[p.node.index].Exact, p: p,
	}
	center, err := l.Center(l.store, host)
	if err != nil {
		return nil, err
	}
	b := &borrower{process: p, l: l}
	host.Center = &far{b, center}
	if l.Holder != nil {
		host.Center = l.Holder(host.Center)
	}
	b.Process, err = l.Process(host)
	return b, err
}

func (b *borrower) Start(ctx context.Context) error {
	err := b.Process.Start(ctx)
	if err != nil {
		b.unable(err)
	}
	return err
}

// use asks for ids one by one, or for many at once with a deadline.
func (b *borrower) use() {
	burst, _ := b.wanted()
	if burst == 0 && b.chance.IntN(4) > 0 {
		b.want(context.Background(), make([]int64, 1+b.chance.IntN(4)), 1)
		return
	}
	within := time.Duration(b.chance.Int64N(int64(100*time.Millisecond))) + time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), b.w.after(b.node.lane(useLane), within))
	defer cancel()
	ids := max(burst, 2+b.chance.IntN(23))
	b.want(ctx, make([]int64, ids), ids)
}

// want asks for ids, each at a time, and checks them.
func (b *borrower) want(ctx context.Context, dst []int64, each int) {
	var err error
	n := 0
	for ; n < len(dst); n += each {
		if err = b.Issue(ctx, dst[n:n+each]); err != nil {
			break
		}
	}
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	if b.w.closed {
		return
	}
	if n > 0 {
		b.served()
		b.issued(dst[:n])
		for _, id := range dst[:n] {
			b.check(id)
		}
	}
	if err != nil {
		b.refused(err)
		b.unserved(err)
	}
}

// check compares an id with what is known of its worker id. The caller holds world.mu.
func (b *borrower) check(id int64) {
	// Decode the bits here rather than with the package that encoded them.
	l := b.w.plan.Layout
	worker := id >> (l.BusinessBits + l.SequenceBits) & (1<<l.WorkerBits - 1)
	unit := int64(l.TimeUnit / time.Millisecond)
	begin := l.Epoch + id>>(l.WorkerBits+l.BusinessBits+l.SequenceBits)*unit
	end := begin + unit - 1
	for i := len(b.grants) - 1; i >= 0; i-- {
		if g := &b.grants[i]; g.worker == worker && g.floor < begin && end <= g.ceiling {
			if g.loan != nil {
				g.loan.used = max(g.loan.used, end)
			}
			return
		}
	}
	var had []string
	for _, g := range b.grants {
		had = append(had, fmt.Sprintf("worker %d (%d, %d]", g.worker, g.floor, g.ceiling))
	}
	b.w.broken(Outside, "process %d issued %d, which is of worker %d and %d..%d ms, while it had %v", b.id, id, worker, begin, end, had)
}

// received notes a grant that reached the process.
func (b *borrower) received(g lease.Grant, err error) error {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	if err != nil || b.w.closed {
		return err
	}
	for i := range b.grants {
		if had := &b.grants[i]; had.worker == g.Worker && had.floor == g.Floor {
			had.ceiling = max(had.ceiling, g.Ceiling)
			return nil
		}
	}
	b.grants = append(b.grants, grant{g.Worker, g.Floor, g.Ceiling, b.l.ledger.loan(g)})
	return nil
}

// gave notes that the process gives a grant back, after which it may issue nothing
// from it. The caller holds world.mu.
func (b *borrower) gave(g lease.Grant) {
	for i := range b.grants {
		if had := &b.grants[i]; had.worker == g.Worker && had.floor == g.Floor {
			had.ceiling = had.floor
		}
	}
}

// far is the center as one process reaches it.
type far struct {
	b      *borrower
	center lease.Center
}

// Extras returns none: only lending is simulated.
func (f *far) Extras() lease.Extras { return lease.Extras{} }

func (f *far) Close() error { return nil }

func (f *far) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	req.CallerTime = f.b.node.clock.now().UnixMilli()
	g, err := reach(ctx, f, "acquire", func(ctx context.Context) (lease.Grant, error) {
		g, err := f.center.Acquire(ctx, req)
		f.b.answered("acquire", g, nil, err)
		return g, err
	})
	return g, f.b.received(g, err)
}

func (f *far) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	renewed, err := reach(ctx, f, "renew", func(ctx context.Context) (lease.Grant, error) {
		renewed, err := f.center.Renew(ctx, g)
		f.b.answered("renew", renewed, &g, err)
		return renewed, err
	})
	return renewed, f.b.received(renewed, err)
}

func (f *far) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	w, ledger := f.b.w, f.b.l.ledger
	w.mu.Lock()
	if !w.closed {
		f.b.gave(g)
		ledger.stopped(g, lastUsed)
	}
	w.mu.Unlock()
	give := giving{g.Worker, ownerOf(g.Request), max(g.Floor, min(lastUsed, g.Ceiling))}
	_, err := reach(ctx, f, "release", func(ctx context.Context) (struct{}, error) {
		w.mu.Lock()
		ledger.giving = append(ledger.giving, give)
		w.mu.Unlock()
		err := f.center.Release(ctx, g, lastUsed)
		f.b.answered("release", g, nil, err)
		return struct{}{}, err
	})
	if errors.Is(err, errOver) {
		return lease.ErrLost // no retry
	}
	return err
}

// reach calls the center, across the network unless the center runs in the process.
func reach[T any](ctx context.Context, f *far, verb string, call func(context.Context) (T, error)) (T, error) {
	if _, near := f.b.l.store.(nearby); near {
		return call(f.b.near(ctx))
	}
	return exchange(ctx, f.b.process, f.b.net, verb, call)
}

// answered notes what the center did.
func (b *borrower) answered(verb string, g lease.Grant, former *lease.Grant, err error) {
	w := b.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	e := Event{What: verb, Note: kindOf(err)}
	if err == nil {
		e.Worker, e.Token, e.Floor, e.Ceiling, e.Now = g.Worker, g.Token, g.Floor, g.Ceiling, g.Now
	}
	b.eventLocked(requestLane, e)
	switch e.Note {
	case "full":
		w.result.Full++
	case "quarantine":
		w.result.Quarantined++
	case "lost":
		w.result.Lost++
	}
	if e.Note == "mismatch" && (former == nil || former.Ceiling >= b.l.store.Now().UnixMilli()) {
		w.broken(Refused, "process %d: %v", b.id, err)
	}
	if err != nil {
		return
	}
	if verb == "release" {
		w.result.Releases++
		return
	}
	renewed, other, mine := b.l.ledger.lent(b.id, g)
	switch {
	case former != nil && !renewed:
		w.result.Swaps++
	case former != nil:
		w.result.Renewals++
	case !renewed:
		w.result.Grants++
	}
	if other != nil {
		w.broken(Overlap, "worker %d is lent for %v and for %v", g.Worker, other, mine)
	}
}
