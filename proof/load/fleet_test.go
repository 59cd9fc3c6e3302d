package load

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

const (
	workers = 1024
	// processes is how many centers the keepers share. Each has its own connections,
	// and a server accepts only a few hundred.
	processes = 32
)

// layout has so few ids that a thousand workers can make all of them.
var layout = snowflake.Layout{TimeUnit: 10 * time.Millisecond, WorkerBits: 10, SequenceBits: 1}

// request returns the request of a new owner.
func request(ttl time.Duration) lease.Request {
	r := memcenter.NewRequest("load", layout.WithDefaults())
	r.TTL, r.MaxTTL = ttl, ttl
	r.Owner = lease.NewOwner()
	return r
}

// A fleet is the keepers of many processes on one server.
type fleet struct {
	engine
	server  *testserver.Server
	centers []*watched
	closers []io.Closer
	keepers []*keeper.Keeper
	ids     []*generator.Generator
}

// newFleet starts a server and makes keepers, which it does not start.
func newFleet(t testing.TB, e engine, keepers int, ttl time.Duration, schedule keeper.Schedule) *fleet {
	t.Helper()
	f := &fleet{engine: e, server: e.start(t)}
	t.Cleanup(f.close)
	for range processes {
		c, closer := e.connect(t, f.server)
		f.centers = append(f.centers, &watched{Center: c, asked: map[int64]int{}})
		f.closers = append(f.closers, closer)
	}
	require.NoError(t, f.centers[0].Center.Extras().Init(t.Context(), request(ttl)))
	f.hire(t, keepers, ttl, schedule)
	return f
}

// hire replaces the keepers with new ones.
func (f *fleet) hire(t testing.TB, keepers int, ttl time.Duration, schedule keeper.Schedule) {
	t.Helper()
	f.keepers, f.ids = nil, nil
	for i := range keepers {
		g := generator.New(layout)
		k := keeper.New(keeper.Config{
			Center: f.centers[i%processes], Generator: g, Request: request(ttl), Schedule: schedule, Wait: 3 * time.Minute,
		})
		f.keepers, f.ids = append(f.keepers, k), append(f.ids, g)
	}
}

func (f *fleet) close() {
	_ = f.stop(context.Background())
	for _, c := range f.closers {
		_ = c.Close()
	}
}

// start starts all keepers at once.
func (f *fleet) start(ctx context.Context) error {
	return f.each(len(f.keepers), func(k *keeper.Keeper) error { return k.Start(ctx) })
}

// stop stops the started keepers, as many at a time as there are processes.
func (f *fleet) stop(ctx context.Context) error {
	return f.each(processes, func(k *keeper.Keeper) error { return k.Stop(ctx) })
}

// each calls the keepers, atATime at a time, and returns their errors.
func (f *fleet) each(atATime int, call func(*keeper.Keeper) error) error {
	var (
		running sync.WaitGroup
		errs    = make([]error, len(f.keepers))
		places  = make(chan struct{}, max(1, atATime))
	)
	for i, k := range f.keepers {
		running.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			errs[i] = call(k)
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// lent returns the worker ids that are held, sorted.
func (f *fleet) lent() (held []int64) {
	for _, k := range f.keepers {
		if s := k.Status(); s.State == keeper.Holding {
			held = append(held, s.Grant.Worker)
		}
	}
	slices.Sort(held)
	return held
}

// renewed reports whether all leases were renewed since then.
func (f *fleet) renewed(since time.Time) bool {
	return !slices.ContainsFunc(f.keepers, func(k *keeper.Keeper) bool { return k.Status().Renewed.Before(since) })
}

func (f *fleet) losses() (n int64) {
	for _, k := range f.keepers {
		n += k.Status().Losses
	}
	return n
}

// renewals returns the sorted durations and the errors of the renewals since the last call.
func (f *fleet) renewals() (took []time.Duration, errs []error) {
	for _, c := range f.centers {
		c.mu.Lock()
		took, errs = append(took, c.took...), append(errs, c.errs...)
		c.took, c.errs = nil, nil
		c.mu.Unlock()
	}
	slices.Sort(took)
	return took, errs
}

// issuing reports whether all have ids.
func (f *fleet) issuing() bool {
	return !slices.ContainsFunc(f.ids, func(g *generator.Generator) bool { return g.Err() != nil })
}

// busiest returns how often the keepers called within the busiest second since the last
// call of busiest.
func (f *fleet) busiest() (most int) {
	sum := map[int64]int{}
	for _, c := range f.centers {
		c.mu.Lock()
		for second, n := range c.asked {
			sum[second] += n
			most = max(most, sum[second])
		}
		clear(c.asked)
		c.mu.Unlock()
	}
	return most
}

// A watched center counts its calls and notes the duration of its renewals.
type watched struct {
	lease.Center
	mu    sync.Mutex
	asked map[int64]int // by second
	took  []time.Duration
	errs  []error
}

func (w *watched) ask() (began time.Time) {
	began = time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[began.Unix()]++
	return began
}

func (w *watched) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	w.ask()
	return w.Center.Acquire(ctx, req)
}

func (w *watched) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	began := w.ask()
	g, err := w.Center.Renew(ctx, g)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.errs = append(w.errs, err)
	} else {
		w.took = append(w.took, time.Since(began))
	}
	return g, err
}
