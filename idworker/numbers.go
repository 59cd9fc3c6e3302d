package idworker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"go.uber.org/fx"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/internal/bounded"
	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/internal/redisnumbers"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/redisseq"
)

// Numbers holds the small numbers of Config.Segments and Config.Series. Module provides it, and
// opens nothing unless the application depends on it. With fx, it starts and closes with the
// application.
//
//	func newInvoices(n *idworker.Numbers) (*numbers.Series, error) { return n.Series("invoices") }
//
// The tag `idworker:"segment=members"` fills the key of a GORM model. All methods are safe for
// concurrent use.
type Numbers struct {
	byName map[string]*numbers.Segment
	series map[string]*numbers.Series
	stores []io.Closer
	log    *slog.Logger
}

// member is a segment or a series.
type member interface {
	Start(ctx context.Context) error
	Close() error
	Status() numbers.Status
	Reset()
	Healthy() error
}

// all returns the segments, then the series, sorted by name.
func (s *Numbers) all() []member {
	var list []member
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		list = append(list, s.byName[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.series)) {
		list = append(list, s.series[name])
	}
	return list
}

// newNumbers creates the segments and series of cfg. It does no I/O.
func newNumbers(cfg Config, o wiring) (*Numbers, error) {
	cfg = cfg.WithDefaults()
	f := &fault.List{In: "snowlease: config"}
	cfg.planSegments(f)
	if err := f.Err(); err != nil {
		return nil, err
	}
	s := &Numbers{byName: make(map[string]*numbers.Segment), series: make(map[string]*numbers.Series), log: o.Logger}
	if len(cfg.Segments)+len(cfg.Series) == 0 {
		return s, nil
	}
	if err := s.make(cfg, o); err != nil {
		return nil, errors.Join(fmt.Errorf("snowlease: segments: %w", err), s.Close())
	}
	return s, nil
}

// provideNumbers returns numbers that open when the application starts and close when it stops.
func provideNumbers(cfg Config, c graph) (*Numbers, error) {
	s, err := newNumbers(cfg, c.wiring())
	if err == nil && len(s.all()) > 0 {
		c.Lifecycle.Append(fx.Hook{
			OnStart: func(ctx context.Context) error {
				err := s.start(ctx, cfg.WithDefaults().Wait)
				if err != nil {
					s.log.Error("idworker did not open its segments", "err", err) // with fx.NopLogger, fx logs nothing
				}
				return err
			},
			OnStop: func(context.Context) error { return s.Close() },
		})
	}
	return s, err
}

// OpenNumbers returns the numbers of cfg.Segments and cfg.Series, ready to use, for programs
// without fx, as Module does with fx. OpenNumbers waits for the store as long as ctx and cfg.Wait
// allow. The caller closes the numbers, then the clients.
func OpenNumbers(ctx context.Context, cfg Config, clients Clients) (*Numbers, error) {
	s, err := newNumbers(cfg, clients.wiring())
	if err != nil {
		return nil, err
	}
	if err := s.start(ctx, cfg.WithDefaults().Wait); err != nil {
		return nil, err
	}
	return s, nil
}

// make chooses the store among the clients and creates the issuers. It does no I/O.
func (s *Numbers) make(c Config, o wiring) error {
	where, err := c.segmentStore(o)
	if err != nil {
		return err
	}
	var db numbers.Store // one pool for all
	if where != SegmentStoreRedis || len(c.Series) > 0 {
		if db, err = s.database(c, o, where); err != nil {
			return err
		}
	}
	common := db
	if where == SegmentStoreRedis {
		own, err := redisnumbers.New(o.Redis, redisseq.WithDurable(c.Store.Durable), redisseq.WithWaitReplicas(c.Store.WaitReplicas, c.replicaTime()))
		if err != nil {
			return err
		}
		s.stores, common = append(s.stores, own), own
	}
	logged := make(map[string]bool) // segments of one store share its warnings
	for _, g := range c.Segments {
		store := common
		if where == SegmentStoreDBRedis && g.Strict { // in the database, with a dispenser in Redis
			d, err := redisnumbers.NewDispenser(o.Redis, db, g, redisseq.WithDurable(c.Store.Durable))
			if err != nil {
				return err
			}
			s.stores, store = append(s.stores, d), d
		}
		g.Logger = cmp.Or(g.Logger, s.log)
		issuer, err := numbers.NewSegment(store, g)
		if err != nil {
			return err
		}
		s.byName[g.Name] = issuer
		s.warn(g.Name, store, logged)
	}
	for _, g := range c.Series {
		one, err := numbers.NewSeries(db, g)
		if err != nil {
			return err
		}
		s.series[g.Name] = one
	}
	return nil
}

// warn logs the warnings of a segment's store that have not been logged.
func (s *Numbers) warn(segment string, store numbers.Store, logged map[string]bool) {
	if c, ok := store.(interface{ Warnings() []string }); ok {
		for _, text := range c.Warnings() {
			if !logged[text] {
				s.log.Warn("idworker segment", "segment", segment, "warning", text)
			}
			logged[text] = true
		}
	}
}

// segmentStore returns where the segments are kept. It fails if they are in Redis and there is
// none.
func (c Config) segmentStore(o wiring) (SegmentStore, error) {
	where := c.SegmentStore
	if len(c.Segments) == 0 || where == SegmentStoreAuto && o.numbers != nil { // series are always in SQL
		return SegmentStoreDB, nil
	}
	if where == SegmentStoreAuto { // choosing one of two would move the numbers when the other is added
		only, err := o.auto("segment_store", "numbers.Store", `"db", "redis" or "db+redis", which has the numbers so far`)
		return SegmentStore(only), err
	}
	if where == SegmentStoreDB {
		return where, nil
	}
	_, err := o.needRedis("segment_store " + string(where))
	return where, err
}

// database returns the store in SQL.
func (s *Numbers) database(c Config, o wiring, where SegmentStore) (numbers.Store, error) {
	if o.numbers != nil {
		return o.numbers, nil
	}
	if o.DB == nil {
		what := "segment_store " + string(where)
		if len(c.Series) > 0 {
			what = "series"
		}
		return nil, fmt.Errorf("%s: %w", what, o.absent("no *gorm.DB and no numbers.Store", ""))
	}
	own, err := gormdb.Center(o.DB, dbseq.WithTablePrefix(c.Store.TablePrefix))
	if err != nil {
		return nil, err
	}
	s.stores = append(s.stores, own)
	return own.Numbers(), nil
}

// start closes s if it fails, because fx does not stop a hook that failed to start.
func (s *Numbers) start(ctx context.Context, wait time.Duration) error {
	ctx, cancel := bounded.Start(ctx, wait)
	defer cancel()
	for _, n := range s.all() {
		if err := n.Start(ctx); err != nil {
			return errors.Join(fmt.Errorf("snowlease: segments: %w", err), s.Close())
		}
		st := n.Status()
		s.log.Info("idworker segment opened", "segment", st.Name, "store", st.Store, "strict", st.Strict)
	}
	return nil
}

// Close closes the segments and series, then the stores that s opened. With fx, the stop of the
// application calls Close.
func (s *Numbers) Close() error {
	var errs []error
	for _, n := range s.all() {
		errs = append(errs, n.Close())
	}
	for _, store := range slices.Backward(s.stores) {
		errs = append(errs, store.Close())
	}
	return errors.Join(errs...)
}

// Segment returns the named segment, or an error if Config.Segments has no such name. Before the
// start, the segment returns snowlease.ErrNotStarted instead of numbers.
func (s *Numbers) Segment(name string) (*numbers.Segment, error) {
	if issuer, ok := s.byName[name]; ok {
		return issuer, nil
	}
	return nil, fmt.Errorf("snowlease: segment %q is not configured (configured: %q): add it to Config.Segments", name, slices.Sorted(maps.Keys(s.byName)))
}

// Series returns the named series, or an error if Config.Series has no such name. Before the
// start, the series returns snowlease.ErrNotStarted instead of numbers.
func (s *Numbers) Series(name string) (*numbers.Series, error) {
	if one, ok := s.series[name]; ok {
		return one, nil
	}
	return nil, fmt.Errorf("snowlease: series %q is not configured (configured: %q): add it to Config.Series", name, slices.Sorted(maps.Keys(s.series)))
}

// Status returns the status of each segment that has started, followed by each series, both
// sorted by name. It does no I/O.
func (s *Numbers) Status() []numbers.Status {
	var list []numbers.Status
	for _, n := range s.all() {
		if st := n.Status(); st.State != numbers.StateNotStarted {
			list = append(list, st)
		}
	}
	return list
}

// Reset discards the numbers that all segments and series have reserved ahead. Call it together with
// IdWorker.Reset in a process that may have been copied with its memory.
func (s *Numbers) Reset() {
	for _, n := range s.all() {
		n.Reset()
	}
}

// Healthy returns nil if all segments and series can issue numbers, or the reasons why some
// cannot. It does no I/O.
func (s *Numbers) Healthy() error {
	var errs []error
	for _, n := range s.all() {
		errs = append(errs, n.Healthy())
	}
	return errors.Join(errs...)
}
