package simulate

import (
	"context"
	"time"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/keeper"
	"github.com/snowlease/snowlease/snowflake"
)

// A Subject is what a run puts to the test. The zero value of each field but Store is
// the product's own.
type Subject struct {
	Store func() (Store, error) // NewMemory, NewRedis, NewSQLite, NewLocal
	// Center makes the center of one process. It runs beyond the network: a client
	// of the store's asks for its round trips by itself.
	Center func(Store, *Host) (lease.Center, error)
	// Holder makes of the center, as a process reaches it through the network, what
	// the process then uses.
	Holder func(lease.Center) lease.Center
	// Process makes what runs on a node.
	Process func(*Host) (Process, error)
}

// A Process borrows a worker id and makes ids.
type Process interface {
	Start(ctx context.Context) error
	// Issue fills dst with ids, or with zeros and returns an error.
	Issue(ctx context.Context, dst []int64) error
	Stop(ctx context.Context) error
	// Holding reports whether it has a worker id.
	Holding() bool
}

// A Host is what a process sees of the world.
type Host struct {
	Request lease.Request // but for Owner and Local
	Layout  snowflake.Layout
	Ahead   time.Duration
	Wait    time.Duration
	Exact   bool         // keeper.Config.ExactTimes
	Center  lease.Center // through the network

	p *proc
}

// Elapsed is the host's monotonic clock. A process that stands still may do so here,
// and learn the time of before or of after.
func (h *Host) Elapsed() time.Duration { return h.p.elapsed() }

// Wall is the host's wall clock.
func (h *Host) Wall() time.Time { return h.p.node.clock.now() }

// Jitter is how long the host's timer of d takes, up to a tenth less.
func (h *Host) Jitter(d time.Duration) time.Duration { return h.p.jitter(d) }

// worker is the product: a generator and its keeper.
type worker struct {
	generator *snowflake.Generator
	keeper    *keeper.Keeper
}

// NewProcess returns the product: a generator and its keeper.
func NewProcess(h *Host) (Process, error) {
	g, err := snowflake.NewGenerator(h.Layout, snowflake.WithClock(h.Elapsed), snowflake.WithMaxAhead(h.Ahead))
	if err != nil {
		return nil, err
	}
	k, err := keeper.New(keeper.Config{
		Center: h.Center, Generator: g, Request: h.Request,
		Wait: h.Wait, ExactTimes: h.Exact, Jitter: h.Jitter,
	})
	return &worker{g, k}, err
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
