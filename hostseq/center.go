package hostseq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/option"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// center leases worker ids of this host to this process. Unlike other centers, it keeps its
// grants in memory, because a lock belongs to a process.
type center struct {
	choice
	maxBehind time.Duration
	maxAhead  time.Duration
	unit      time.Duration // of the layout
	now       func() time.Time

	mu    sync.Mutex // guards the fields below
	held  map[holder]*loan
	until int64 // without records: no range begins earlier, or 0 before the first borrow
}

type holder struct {
	namespace string
	owner     [16]byte
}

func holderOf(r lease.Request) holder { return holder{r.Namespace, r.Owner} }

// A loan is a grant that has not been released.
type loan struct {
	lease.Grant
	file *os.File // locked; nil if no record is kept
}

// An Option configures a center in New. A nil Option is ignored.
type Option interface{ set }

type set = option.Option[center]

// WithMaxAhead sets how far ids may run ahead of the clock, 0 to 2h. Use the value of
// Config.MaxAhead of package snowlease. If no record shows the last use of a worker id, ids start
// that far ahead. Default, also for 0: 1s, or two time units of the layout if that is longer.
func WithMaxAhead(d time.Duration) Option {
	return option.Func[center](func(c *center) error {
		if d < 0 || d > 2*time.Hour { // twice the longest time unit
			return fmt.Errorf("local: MaxAhead %v is not from 0 to 2h", d)
		}
		c.maxAhead = cmp.Or(d, c.maxAhead)
		return nil
	})
}

// WithClock replaces the clock of the host, for tests and simulations. Default:
// time.Now.
func WithClock(now func() time.Time) Option {
	return option.Func[center](func(c *center) error {
		if now == nil {
			return errors.New("local: the clock is nil")
		}
		c.now = now
		return nil
	})
}

// New returns a center that leases worker ids of the layout from the source of cfg. It inspects
// the host and creates the directory. The center keeps its grants in memory: renew and release a
// grant with the center that granted it. Close drops the worker ids that were not released, as
// the end of the process would. The center's lease.Extras have the uniqueness of the source,
// warnings, and a Lister. The Lister lists the worker ids that were ever leased on this host, or
// none without records. It lists a crashed holder until that holder's ceiling.
//
// The error joins all problems of cfg, or reports why the source cannot be used on this host or
// which option is invalid.
func New(cfg Config, layout snowflake.Layout, opts ...Option) (lease.Center, error) {
	return newCenter(cfg, layout, inspect(), opts...)
}

func newCenter(cfg Config, layout snowflake.Layout, h host, opts ...Option) (*center, error) {
	if err := cfg.Validate(layout); err != nil {
		return nil, err
	}
	cfg, layout = cfg.withDefaults(), layout.WithDefaults()
	c := &center{
		maxBehind: cfg.MaxBehind,
		maxAhead:  max(generator.DefaultMaxAhead, 2*layout.TimeUnit),
		unit:      layout.TimeUnit,
		now:       time.Now,
		held:      map[holder]*loan{},
	}
	err := option.All[center](opts)(c)
	if err != nil {
		return nil, err
	}
	c.choice, err = choose(cfg, layout, h)
	return c, err
}

func (c *center) Extras() lease.Extras {
	return lease.Extras{Name: c.String(), Warnings: slices.Clone(c.warnings), Uniqueness: c.promise, Lister: c}
}

// String returns the name of the source and the directory.
func (c *center) String() string {
	if c.dir == "" {
		return fmt.Sprintf("local (%s)", c.source)
	}
	return fmt.Sprintf("local (%s in %s)", c.source, string(c.dir))
}

// Acquire leases a worker id from the source. It returns the same worker id to the same owner. It
// ignores req.MaxLead and req.CallerTime. Once it has begun to use the disk, it continues even if
// ctx ends.
//
// Errors: *lease.NoFreeWorkerError if source lock or hash finds no worker id; ErrHeld;
// ErrClockBehind; *lease.QuarantineError without records; *lease.MismatchError; and, wrapped with
// lease.ErrSetup, lease.ErrDamaged, or the error for a missing directory or for a range without
// the worker id of source explicit.
func (c *center) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := cmp.Or(req.Validate(), ctx.Err()); err != nil {
		return lease.Grant{}, err
	}
	if c.source == Explicit && (c.number < req.First || c.number > req.Last) {
		return lease.Grant{}, fmt.Errorf("%w: local: worker %d is not among worker ids %d to %d, the range of namespace %q: change workers or the worker",
			lease.ErrSetup, c.number, req.First, req.Last, req.Namespace)
	}
	if l := c.held[holderOf(req)]; l != nil && c.intact(l) {
		if err := l.save(l.Ceiling); err != nil { // a release may have lowered the mark and failed
			return lease.Grant{}, err
		}
		l.Now = c.now().UnixMilli()
		return l.Grant, nil
	}
	if c.dir != "" {
		if err := c.dir.pin(req); err != nil {
			return lease.Grant{}, err
		}
	} else if err := c.outlast(req); err != nil {
		return lease.Grant{}, err
	}
	switch c.source {
	case Explicit:
		return c.take(req, c.number)
	case Hash:
		if g, err := c.take(req, req.First+c.number%(req.Last-req.First+1)); err == nil || c.dir == "" {
			return g, err
		}
	}
	return c.search(req)
}

// outlast delays a range without records until the clock has passed every time that a predecessor
// may have used ahead of it, and every time that this process has used. The range cannot begin
// ahead of the clock instead: a generator's MaxAhead counts from its beginning, so the next
// process would have to begin further ahead.
func (c *center) outlast(req lease.Request) error {
	now := c.now()
	if c.until == 0 {
		c.until = now.Add(c.maxAhead + 2*c.unit).UnixMilli()
	}
	if now.UnixMilli() >= c.until {
		return nil
	}
	return &lease.QuarantineError{
		Namespace: req.Namespace, Now: now, Until: time.UnixMilli(c.until),
		Reason: "without records, a range begins when the clock has passed what was used before",
	}
}

// search leases a free worker id. It tries them in this order:
//
//   - worker ids with a file, the least recently used first;
//   - worker ids without a file, in random order, so that processes that should share the
//     directory but do not rarely collide;
//   - worker ids with a mark ahead of the clock, such as after a crash.
func (c *center) search(req lease.Request) (lease.Grant, error) {
	records, err := c.dir.list(req.Namespace)
	if err != nil {
		return lease.Grant{}, err
	}
	now := c.now()
	type slot struct{ worker, mark int64 }
	var candidates []slot
	n := req.Last - req.First + 1
	begin := rand.Int64N(n)
	for i := range n {
		s := slot{req.First + (begin+i)%n, now.UnixMilli()}
		if r, known := records[s.worker]; known {
			s.mark = r.Mark
		}
		candidates = append(candidates, s)
	}
	slices.SortStableFunc(candidates, func(a, b slot) int { return cmp.Compare(a.mark, b.mark) })
	soonest := now
	if i := slices.IndexFunc(candidates, func(s slot) bool { return s.mark > now.UnixMilli() }); i >= 0 {
		soonest = time.UnixMilli(candidates[i].mark + 1)
	}
	var other error // the first error that explains more than ErrHeld
	for _, s := range candidates {
		g, err := c.take(req, s.worker)
		if err == nil {
			return g, nil
		}
		if other == nil && !errors.Is(err, ErrHeld) {
			other = err
		}
	}
	err = &lease.NoFreeWorkerError{Namespace: req.Namespace, First: req.First, Last: req.Last, Now: now, Soonest: soonest}
	if other != nil {
		err = fmt.Errorf("%w; %w", other, err)
	}
	return lease.Grant{}, fmt.Errorf("local: %s: %w", c.String(), err)
}

// take leases worker id w unless it is held.
func (c *center) take(req lease.Request, w int64) (lease.Grant, error) {
	l := &loan{Grant: lease.Grant{Request: req, Worker: w}}
	var r record
	var err error
	if c.dir != "" {
		if l.file, r, err = c.dir.open(req.Namespace, w); err != nil {
			return lease.Grant{}, err
		}
	} else {
		for _, l := range c.held {
			if l.Worker == w && l.Namespace == req.Namespace {
				return lease.Grant{}, fmt.Errorf("%w: %d of namespace %q, by %q in this process", ErrHeld, w, req.Namespace, l.Holder)
			}
		}
	}
	now := c.now().UnixMilli()
	if bound := (req.MaxTTL + c.maxBehind).Milliseconds(); r.Mark-now > bound {
		_ = l.file.Close()
		return lease.Grant{}, fmt.Errorf("%w: worker id %d of namespace %q was used up to %s, %[6]v after the host's clock (%[5]s): correct the clock; if it is right, a process with a greater lease.ttl or lease.max_ttl may have leased the worker id: start with that value, or wait until %[7]s; or delete %[8]s once the clock has passed all ids of this worker id",
			ErrClockBehind, w, req.Namespace, stamp(r.Mark), stamp(now), time.UnixMilli(r.Mark).Sub(time.UnixMilli(now)), stamp(r.Mark-bound), c.dir.path(req.Namespace, w))
	}
	l.Token, l.Now, l.Since, l.Floor = r.Token+1, now, now, max(r.Mark, now-1)
	if r.Token == 0 && c.dir != "" {
		l.Floor += c.maxAhead.Milliseconds()
	}
	l.Ceiling = max(now, l.Floor) + req.TTL.Milliseconds()
	if err := l.save(l.Ceiling); err != nil {
		return lease.Grant{}, errors.Join(err, l.file.Close())
	}
	c.held[holderOf(req)] = l
	return l.Grant, nil
}

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// save writes the mark. The caller uses no time up to it before save has returned.
func (l *loan) save(mark int64) error {
	if l.file == nil {
		return nil
	}
	return write(l.file, record{Worker: l.Worker, Token: l.Token, Mark: mark, Since: l.Since, Owner: l.Owner, Holder: l.Holder})
}

// intact reports whether the file that l locks is still the file at its path. If not, intact
// drops the loan.
func (c *center) intact(l *loan) bool {
	if l.file == nil || c.dir.same(l.file, c.dir.path(l.Namespace, l.Worker)) {
		return true
	}
	c.letGo(l)
	return false
}

func (c *center) letGo(l *loan) {
	if l.file != nil {
		unlock(l.file)
		_ = l.file.Close()
	}
	delete(c.held, holderOf(l.Request))
}

// loanOf returns the loan of g, for a change of it.
func (c *center) loanOf(ctx context.Context, g lease.Grant) (*loan, error) {
	if err := cmp.Or(g.Validate(), ctx.Err()); err != nil {
		return nil, err
	}
	l := c.held[holderOf(g.Request)]
	if l == nil || l.Worker != g.Worker || l.Token != g.Token || !c.intact(l) {
		return nil, fmt.Errorf("local: worker id %d of namespace %q: not leased by this center, released, or its file was removed: %w", g.Worker, g.Namespace, lease.ErrLost)
	}
	return l, nil
}

// Renew raises the ceiling of g. It returns lease.ErrLost if this center does not hold
// g, or if the file was removed or replaced.
func (c *center) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, err := c.loanOf(ctx, g)
	if err != nil {
		return lease.Grant{}, err
	}
	l.Now = c.now().UnixMilli()
	ceiling := max(l.Ceiling, l.Now+g.TTL.Milliseconds())
	if err := l.save(ceiling); err != nil {
		return lease.Grant{}, err
	}
	l.Ceiling = ceiling
	g.Now, g.Ceiling = l.Now, ceiling
	return g, nil
}

// Release ends the lease of g. It returns lease.ErrLost in the same cases as Renew.
func (c *center) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, err := c.loanOf(ctx, g)
	if err != nil {
		return err
	}
	back := *l
	back.Owner, back.Holder, back.Since = [16]byte{}, "", 0
	mark := max(l.Floor, min(lastUsed, l.Ceiling))
	if err := back.save(mark); err != nil {
		return err
	}
	c.until = max(c.until, mark+1)
	c.letGo(l)
	return nil
}

// Slots implements lease.Lister.
func (c *center) Slots(ctx context.Context, namespace string) ([]lease.Slot, error) {
	if err := cmp.Or(lease.CheckNamespace(namespace), ctx.Err()); err != nil || c.dir == "" {
		return nil, err
	}
	records, err := c.dir.list(namespace)
	slots, now := []lease.Slot{}, c.now().UnixMilli()
	for _, r := range slices.SortedFunc(maps.Values(records), func(a, b record) int { return cmp.Compare(a.Worker, b.Worker) }) {
		s := lease.Slot{Worker: r.Worker, Token: r.Token, Holder: r.Holder, Since: r.Since, HighWater: r.Mark, Now: now}
		if r.Owner != [16]byte{} {
			s.Expires = r.Mark
		}
		slots = append(slots, s)
	}
	return slots, err
}

// Close drops the worker ids that were not released, as the end of the process would. Their next
// holders start above the ceilings of the dropped grants.
func (c *center) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.held {
		c.letGo(l)
	}
	return nil
}
