package hostseq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/snowlease/snowlease/internal/bounded"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// Center lends worker ids of this host to this process. Unlike other centers, it keeps
// its grants in memory, because a lock belongs to a process: renew and release a grant
// with the Center that lent it. All methods are safe for concurrent use.
type Center struct {
	choice
	maxBehind time.Duration
	maxAhead  time.Duration
	unit      time.Duration // of the layout
	now       func() time.Time

	turn chan struct{} // has an element while a call uses what follows
	held map[holder]*loan
	// Without records:
	asked time.Time      // when a worker id was first asked for
	used  map[slot]int64 // up to when this process has used worker ids
}

var _ lease.Center = (*Center)(nil)

// A slot is a worker id of a namespace.
type slot struct {
	namespace string
	id        int64
}

type holder struct {
	namespace string
	owner     [16]byte
}

func holderOf(r lease.Request) holder { return holder{r.Namespace, r.Owner} }

// A loan is a grant that has not been given back.
type loan struct {
	lease.Grant
	file *os.File // locked; nil if no record is kept
}

// Option configures a Center in New. A nil Option is ignored.
type Option func(*Center) error

// WithMaxAhead sets how far ids may run ahead of the clock, 0 to 2h. If no record shows the
// last use of a worker id, ids start that far ahead. Set it to Config.MaxAhead of package
// snowlease if that is not the default. Default: 1s, or two time units of the layout if that
// is longer.
func WithMaxAhead(d time.Duration) Option {
	return func(c *Center) error {
		if d < 0 || d > 2*time.Hour { // two of the longest time units
			return fmt.Errorf("local: MaxAhead %v is not from 0 to 2h", d)
		}
		c.maxAhead = d
		return nil
	}
}

// WithClock replaces the clock of the host, for tests and simulations. Default:
// time.Now.
func WithClock(now func() time.Time) Option {
	return func(c *Center) error {
		if now == nil {
			return errors.New("local: the clock is nil")
		}
		c.now = now
		return nil
	}
}

// New returns a center that lends worker ids of the layout from the source of cfg. It
// looks at the host and creates the directory, and lends nothing. The
// caller closes the center after its last use.
//
// The error lists all faults of cfg, or says why the source cannot be used on this
// host, or which option is invalid.
func New(cfg Config, layout snowflake.Layout, opts ...Option) (*Center, error) {
	return newCenter(cfg, layout, inspect(), opts...)
}

func newCenter(cfg Config, layout snowflake.Layout, h host, opts ...Option) (*Center, error) {
	if err := cfg.Validate(layout); err != nil {
		return nil, err
	}
	p := place{Config: cfg.withDefaults(), layout: layout.WithDefaults(), host: h, ownDir: cfg.Dir == ""}
	p.Dir = cmp.Or(p.Dir, h.dir)
	c := &Center{
		maxBehind: p.MaxBehind,
		maxAhead:  max(generator.DefaultMaxAhead, 2*p.layout.TimeUnit),
		unit:      p.layout.TimeUnit,
		now:       time.Now,
		turn:      make(chan struct{}, 1),
		held:      map[holder]*loan{},
		used:      map[slot]int64{},
	}
	for _, o := range opts {
		if o == nil {
			continue
		}
		if err := o(c); err != nil {
			return nil, err
		}
	}
	var err error
	c.choice, err = p.choose()
	return c, err
}

// Extras returns the name, the promise of the source with its warnings, the lease.Lister and
// Close. It lists the worker ids that have a file: those ever lent on this host, or none if no
// records are kept. It shows a crashed holder until its ceiling.
func (c *Center) Extras() lease.Extras {
	return lease.Extras{Name: c.String(), Warnings: slices.Clone(c.warnings), Promise: c.promise, Lister: lister{c}, Close: c.Close}
}

// name returns the name of the source and the directory.
func (c *Center) String() string {
	if c.dir == "" {
		return fmt.Sprintf("local (%s)", c.source)
	}
	return fmt.Sprintf("local (%s in %s)", c.source, string(c.dir))
}

// Acquire lends a worker id from the source. It returns the same worker id to the same
// owner. It ignores req.Ahead and req.Local.
//
// Errors: *lease.NoFreeWorkerError if source lock or hash finds no worker id; ErrHeld;
// ErrClockBehind; *lease.MismatchError; and, wrapped with lease.ErrSetup, lease.ErrDamaged,
// or the error for a missing directory or for a range without a worker id of the source.
func (c *Center) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	if err := req.Validate(); err != nil {
		return lease.Grant{}, err
	}
	lent := false
	return work(ctx, c, func() (lease.Grant, error) {
		if l := c.held[holderOf(req)]; l != nil && c.intact(l) {
			err := l.save(l.Ceiling) // a release may have lowered it and failed
			if err != nil {
				return lease.Grant{}, err
			}
			l.Now = c.now().UnixMilli()
			return l.Grant, nil
		}
		if c.dir != "" {
			if err := c.dir.pin(req); err != nil {
				return lease.Grant{}, err
			}
		}
		lent = true
		return c.lend(req)
	}, func(g lease.Grant) {
		if lent { // by this call, so no generator uses it
			_ = c.giveBack(g, g.Floor)
		}
	})
}

func (c *Center) lend(req lease.Request) (lease.Grant, error) {
	first, last, err := c.workers(req)
	if err == nil && c.dir == "" {
		err = c.outlast(req)
	}
	if err != nil {
		return lease.Grant{}, err
	}
	candidates, soonest, err := c.candidates(req, first, last)
	if err != nil {
		return lease.Grant{}, err
	}
	var errs []error
	for w := range candidates {
		g, err := c.take(req, w)
		if err == nil {
			return g, nil
		}
		errs = append(errs, err)
	}
	if c.source == Explicit {
		return lease.Grant{}, errs[0]
	}
	now := c.now()
	err = &lease.NoFreeWorkerError{Namespace: req.Namespace, First: first, Last: last, Now: now, Soonest: latest(now, soonest)}
	for _, e := range errs {
		if !errors.Is(e, ErrHeld) { // explains more than ErrHeld
			err = fmt.Errorf("%w; %w", e, err)
			break
		}
	}
	return lease.Grant{}, fmt.Errorf("local: %s: %w", c.String(), err)
}

// outlast lets no range begin, without records, before the clock has passed what a predecessor may
// have used ahead of it. The range cannot begin ahead of the clock instead: a generator's MaxAhead
// counts from there, so the next process would have to begin further ahead.
func (c *Center) outlast(req lease.Request) error {
	if c.asked.IsZero() {
		c.asked = c.now()
	}
	return c.notBefore(req, c.asked.Add(c.maxAhead+2*c.unit))
}

// notBefore refuses a borrow until a time has come.
func (c *Center) notBefore(req lease.Request, until time.Time) error {
	now := c.now()
	if !now.Before(until) {
		return nil
	}
	return &lease.QuarantineError{
		Namespace: req.Namespace, Now: now, Until: until,
		Reason: "without records, a range begins when the clock has passed what was used before",
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// candidates returns the worker ids to try, and when the first may become free.
func (c *Center) candidates(req lease.Request, first, last int64) (iter.Seq[int64], time.Time, error) {
	n := last - first + 1
	begin := rand.Int64N(n)
	if c.source == Hash {
		begin = c.number % n
		if c.dir == "" {
			n = 1
		}
	}
	around := func(yield func(int64) bool) {
		for i := range n {
			if !yield(first + (begin+i)%(last-first+1)) {
				return
			}
		}
	}
	if c.source != Lock {
		return around, time.Time{}, nil
	}
	records, damaged, err := c.dir.list(req.Namespace)
	if err != nil {
		return nil, time.Time{}, err
	}
	var used []record
	for w, r := range records {
		if w >= first && w <= last {
			used = append(used, r)
		}
	}
	slices.SortFunc(used, func(a, b record) int { return cmp.Compare(a.Mark, b.Mark) })
	now := c.now().UnixMilli()
	soonest := time.Time{}
	if at := slices.IndexFunc(used, func(r record) bool { return r.Mark >= now }); at >= 0 {
		soonest = time.UnixMilli(used[at].Mark + 1)
	}
	// The order is
	//
	//   - the least recently used;
	//   - those without a file, at random, so that processes that should share the
	//     directory but do not rarely collide;
	//   - those with a mark ahead of the clock, as a crash leaves them;
	//   - damaged ones.
	return func(yield func(int64) bool) {
		for _, ahead := range []bool{false, true} {
			for _, r := range used {
				if (r.Mark >= now) == ahead && !yield(r.Worker) {
					return
				}
			}
			for w := range around {
				if _, known := records[w]; !known && (damaged[w] != nil) == ahead && !yield(w) {
					return
				}
			}
		}
	}, soonest, nil
}

// take lends worker id w unless it is held.
func (c *Center) take(req lease.Request, w int64) (lease.Grant, error) {
	for _, l := range c.held {
		if l.Worker == w && l.Namespace == req.Namespace && c.dir == "" {
			return lease.Grant{}, fmt.Errorf("%w: %d of namespace %q, by %q in this process", ErrHeld, w, req.Namespace, l.Holder)
		}
	}
	l := &loan{Grant: lease.Grant{Request: req, Worker: w}}
	var r record
	if c.dir != "" {
		var err error
		if l.file, r, err = c.dir.open(req.Namespace, w); err != nil {
			return lease.Grant{}, err
		}
	}
	if c.dir == "" {
		if err := c.notBefore(req, time.UnixMilli(c.used[slot{req.Namespace, w}]+1)); err != nil {
			return lease.Grant{}, err
		}
	}
	now := c.now().UnixMilli()
	if r.Mark-now > (req.MaxTTL + c.maxBehind).Milliseconds() {
		_ = l.file.Close()
		return lease.Grant{}, fmt.Errorf("%w: worker id %d of namespace %q was used up to %s, %[6]v after the host's clock (%[5]s): correct the clock or wait; if it is right now, delete %[7]s once it has passed all ids of this worker id",
			ErrClockBehind, w, req.Namespace, stamp(r.Mark), stamp(now), time.UnixMilli(r.Mark).Sub(time.UnixMilli(now)), c.dir.path(req.Namespace, w))
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

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano) }

// save writes the mark, before any time up to it is used.
func (l *loan) save(mark int64) error {
	if l.file == nil {
		return nil
	}
	return write(l.file, record{Worker: l.Worker, Token: l.Token, Mark: mark, Since: l.Since, Owner: l.Owner, Holder: l.Holder})
}

// intact reports whether the file that l locks is still the one at its path. If not, it
// drops the loan.
func (c *Center) intact(l *loan) bool {
	if l.file == nil || c.dir.same(l.file, c.dir.path(l.Namespace, l.Worker)) {
		return true
	}
	c.letGo(l)
	return false
}

func (c *Center) letGo(l *loan) {
	if l.file != nil {
		unlock(l.file)
		_ = l.file.Close()
	}
	delete(c.held, holderOf(l.Request))
}

func (c *Center) mine(g lease.Grant) *loan {
	l := c.held[holderOf(g.Request)]
	if l == nil || l.Worker != g.Worker || l.Token != g.Token || !c.intact(l) {
		return nil
	}
	return l
}

// Renew raises the ceiling of g. It returns lease.ErrLost if this Center does not hold
// g, or if the file was removed or replaced.
func (c *Center) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	if err := g.Validate(); err != nil {
		return lease.Grant{}, err
	}
	return work(ctx, c, func() (lease.Grant, error) {
		l := c.mine(g)
		if l == nil {
			return lease.Grant{}, c.lost(g)
		}
		l.Now = c.now().UnixMilli()
		ceiling := max(l.Ceiling, l.Now+g.TTL.Milliseconds())
		if err := l.save(ceiling); err != nil {
			return lease.Grant{}, err
		}
		l.Ceiling = ceiling
		g.Now, g.Ceiling = l.Now, ceiling
		return g, nil
	}, nil)
}

// Release gives g back. It returns lease.ErrLost as Renew does.
func (c *Center) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	if err := g.Validate(); err != nil {
		return err
	}
	_, err := work(ctx, c, func() (struct{}, error) { return struct{}{}, c.giveBack(g, lastUsed) }, nil)
	return err
}

func (c *Center) giveBack(g lease.Grant, lastUsed int64) error {
	l := c.mine(g)
	if l == nil {
		return c.lost(g)
	}
	back := *l
	back.Owner, back.Holder, back.Since = [16]byte{}, "", 0
	mark := max(l.Floor, min(lastUsed, l.Ceiling))
	if err := back.save(mark); err != nil {
		return err
	}
	if c.dir == "" {
		c.used[slot{l.Namespace, l.Worker}] = mark
	}
	c.letGo(l)
	return nil
}

func (c *Center) lost(g lease.Grant) error {
	return fmt.Errorf("local: worker id %d of namespace %q: not lent here, given back, or its file was removed: %w", g.Worker, g.Namespace, lease.ErrLost)
}

type lister struct{ *Center }

func (c lister) Slots(ctx context.Context, namespace string) ([]lease.Slot, error) {
	if err := lease.CheckNamespace(namespace); err != nil || c.dir == "" {
		return nil, err
	}
	return work(ctx, c.Center, func() ([]lease.Slot, error) {
		records, _, err := c.dir.list(namespace)
		slots, now := []lease.Slot{}, c.now().UnixMilli()
		for _, r := range records {
			s := lease.Slot{Worker: r.Worker, Token: r.Token, Holder: r.Holder, Since: r.Since, Mark: r.Mark, Now: now}
			if r.Owner != [16]byte{} {
				s.Expires = r.Mark
			}
			slots = append(slots, s)
		}
		slices.SortFunc(slots, func(a, b lease.Slot) int { return cmp.Compare(a.Worker, b.Worker) })
		return slots, err
	}, nil)
}

// Close drops the worker ids that were not given back, as the end of the process would.
// Their next holders start above their ceilings. It returns an error if a call is still
// waiting for the disk after a second.
func (c *Center) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := work(ctx, c, func() (struct{}, error) {
		for _, l := range c.held {
			c.letGo(l)
		}
		return struct{}{}, nil
	}, nil)
	if err != nil {
		return fmt.Errorf("local: close %s: %w", c.String(), err)
	}
	return nil
}

// work runs f, one call at a time. A disk may be slow, so work returns when ctx ends,
// and undo, which may be nil, then reverts what f does later.
func work[T any](ctx context.Context, c *Center, f func() (T, error), undo func(T)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return none, err
	}
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	answers, gone := make(chan answer), make(chan struct{})
	go func() {
		defer func() { <-c.turn }()
		value, err := f()
		select {
		case answers <- answer{value, err}:
		case <-gone:
			if err == nil && undo != nil {
				undo(value)
			}
		}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		close(gone)
		return none, ctx.Err()
	}
}
