package idworker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"

	"go.uber.org/fx"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/redisseq"
	redissegments "github.com/snowlease/snowlease/redisseq/segments"
	"github.com/snowlease/snowlease/segment"
)

// Segments are the sequences of small numbers that Config.Segments names, beside the
// ids. Module provides them; nothing is opened unless they are asked for.
//
//	func newInvoices(s *idworker.Segments) (*Invoices, error) {
//		numbers, err := s.Of("invoices")
//		return &Invoices{numbers: numbers}, err
//	}
//
// GORM models have their keys filled by the tag `idworker:"segment=invoices"`.
type Segments struct {
	byName map[string]*Segment
	closes []io.Closer // in the reverse order
	log    *slog.Logger
	begun  bool // once: what a start opened is closed for good
}

// Segment issues the numbers of one name: see package segment for what they promise.
// All methods are safe for concurrent use.
type Segment struct {
	cfg    segment.Config
	issuer atomic.Pointer[segment.Issuer] // nil before the start
}

// SegmentsParams is what NewSegments takes from fx.
type SegmentsParams struct {
	fx.In

	Config    Config
	Lifecycle fx.Lifecycle
	Clients
}

// NewSegments returns the segments of p.Config, which are opened when p.Lifecycle starts
// and closed when it stops. The start waits for the first numbers of each within
// Config.Wait. Without fx use segment.Open.
func NewSegments(p SegmentsParams) (*Segments, error) {
	cfg := p.Config.WithDefaults()
	if err := errors.Join(cfg.checkSegments()...); err != nil {
		return nil, err
	}
	if p.Lifecycle == nil {
		return nil, errors.New("idworker: new segments: SegmentsParams.Lifecycle is nil: give fx's, or use segment.Open")
	}
	s := &Segments{byName: make(map[string]*Segment), log: p.Logger}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if len(cfg.Segments) == 0 {
		return s, nil
	}
	stores, err := cfg.segmentStores(p.Clients)
	if err != nil {
		return nil, fmt.Errorf("idworker: segments: %w", err)
	}
	for _, c := range cfg.Segments {
		s.byName[c.Name] = &Segment{cfg: c}
	}
	p.Lifecycle.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			ctx, cancel := within(ctx, cfg.Wait)
			defer cancel()
			err := s.open(ctx, stores)
			if err != nil { // fx stops no hook that failed to start
				err = errors.Join(fmt.Errorf("idworker: segments: %w", err), s.close())
			}
			return err
		},
		OnStop: func(context.Context) error { return s.close() },
	})
	return s, nil
}

// A storeMaker makes the store of a segment, and may have it closed later.
type storeMaker func(c segment.Config, closeLater func(io.Closer)) (segment.Store, error)

// segmentStores chooses the store among the clients that are there. Nothing is opened
// before the first segment is.
func (c Config) segmentStores(clients Clients) (storeMaker, error) {
	client, err := clients.client()
	if err != nil {
		return nil, err
	}
	where := c.SegmentStore
	if where == SegmentStoreAuto {
		switch {
		case clients.DB != nil:
			where = SegmentStoreDB
		case client != nil:
			where = SegmentStoreRedis
		default:
			return nil, fmt.Errorf("segment_store auto: there is neither a *gorm.DB nor a redis.UniversalClient or *redis.Client: %s", absent)
		}
	}
	if where != SegmentStoreRedis && clients.DB == nil {
		return nil, fmt.Errorf("segment_store %s: there is no *gorm.DB: %s", where, absent)
	}
	if where != SegmentStoreDB && client == nil {
		return nil, fmt.Errorf("segment_store %s: there is no redis.UniversalClient or *redis.Client: %s", where, absent)
	}
	quarantine := redisseq.WithQuarantine(redisseq.Quarantine(c.Quarantine))
	if where == SegmentStoreRedis {
		return func(segment.Config, func(io.Closer)) (segment.Store, error) {
			return redissegments.New(client, quarantine, redisseq.WithWaitReplicas(c.WaitReplicas, c.replicaTime()))
		}, nil
	}
	var db *dbseq.Segments // one pool for all
	return func(g segment.Config, closeLater func(io.Closer)) (segment.Store, error) {
		if db == nil {
			if db, err = dbseq.NewSegments(clients.DB); err != nil {
				return nil, err
			}
			closeLater(db)
		}
		if where == SegmentStoreDB || g.Order != segment.OrderStrict {
			return db, nil
		}
		d, err := redissegments.NewDispenser(client, db, g, quarantine)
		if err == nil {
			closeLater(d)
		}
		return d, err
	}, nil
}

func (s *Segments) open(ctx context.Context, stores storeMaker) error {
	if s.begun {
		return errors.New("they were opened before: an application starts once")
	}
	s.begun = true
	told := make(map[string]bool) // what is wrong with a store is so for all its segments
	for _, name := range s.Names() {
		g := s.byName[name]
		store, err := stores(g.cfg, func(c io.Closer) { s.closes = append(s.closes, c) })
		if err != nil {
			return err
		}
		if c, ok := store.(interface{ Warnings() []string }); ok {
			for _, text := range c.Warnings() {
				if !told[text] {
					s.log.Warn("idworker segment", "segment", name, "warning", text)
				}
				told[text] = true
			}
		}
		issuer, err := segment.Open(ctx, g.cfg, store, segment.WithLogger(s.log))
		if err != nil {
			return err
		}
		g.issuer.Store(issuer)
		s.log.Info("idworker segment opened", "segment", name, "store", issuer.Status().Store, "order", issuer.Status().Order)
	}
	return nil
}

// close ends the issuers before what they ask, in the reverse order of the start.
func (s *Segments) close() error {
	var errs []error
	for _, g := range s.byName {
		if issuer := g.issuer.Load(); issuer != nil {
			errs = append(errs, issuer.Close())
		}
	}
	for _, c := range slices.Backward(s.closes) {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Of returns the segment of a name. It may be asked for before the start.
func (s *Segments) Of(name string) (*Segment, error) {
	if g, ok := s.byName[name]; ok {
		return g, nil
	}
	there := "there are none"
	if len(s.byName) > 0 {
		there = fmt.Sprintf("there are %q", s.Names())
	}
	return nil, fmt.Errorf("idworker: segment %q is not configured: %s: add it to Config.Segments", name, there)
}

// Names returns the names that are configured, in order.
func (s *Segments) Names() []string { return slices.Sorted(maps.Keys(s.byName)) }

// Status returns what each segment that is open knows, in the order of their names.
func (s *Segments) Status() []segment.Status {
	var list []segment.Status
	for _, name := range s.Names() {
		if issuer := s.byName[name].issuer.Load(); issuer != nil {
			list = append(list, issuer.Status())
		}
	}
	return list
}

// Reset gives up what all segments have reserved ahead, in a process that may have been
// copied with its memory: see IdWorker.Reset, beside which it is called.
func (s *Segments) Reset() {
	for _, g := range s.byName {
		if issuer := g.issuer.Load(); issuer != nil {
			issuer.Reset()
		}
	}
}

// Healthy returns nil while all segments issue numbers, or why one does not.
func (s *Segments) Healthy(ctx context.Context) error {
	var errs []error
	for _, name := range s.Names() {
		issuer, err := s.byName[name].open()
		if err == nil {
			err = issuer.Healthy(ctx)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (g *Segment) open() (*segment.Issuer, error) {
	if issuer := g.issuer.Load(); issuer != nil {
		return issuer, nil
	}
	return nil, fmt.Errorf("idworker: segment %q is opened when the application starts: %w", g.cfg.Name, ErrNotStarted)
}

// Name returns the name.
func (g *Segment) Name() string { return g.cfg.Name }

// NextID returns the next number: see segment.Issuer.NextID, whose errors it has.
// Before the start it is ErrNotStarted.
func (g *Segment) NextID() (int64, error) {
	issuer, err := g.open()
	if err != nil {
		return 0, err
	}
	return issuer.NextID()
}

// NextIDWait returns the next number and waits for it as long as ctx: see
// segment.Issuer.NextIDWait.
func (g *Segment) NextIDWait(ctx context.Context) (int64, error) {
	issuer, err := g.open()
	if err != nil {
		return 0, err
	}
	return issuer.NextIDWait(ctx)
}

// NextIDs fills dst with rising numbers: see segment.Issuer.NextIDs.
func (g *Segment) NextIDs(ctx context.Context, dst []int64) error {
	issuer, err := g.open()
	if err != nil {
		clear(dst)
		return err
	}
	return issuer.NextIDs(ctx, dst)
}

// checkSegments returns the faults of Segments, SegmentStore and Wait.
func (c Config) checkSegments() []error {
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("idworker: config: "+format, args...))
	}
	switch c.SegmentStore {
	case SegmentStoreAuto, SegmentStoreDB, SegmentStoreRedis, SegmentStoreDBRedis:
	default:
		fault("segment_store %q is unknown: choose %s, %s, %s, %s", c.SegmentStore, SegmentStoreAuto, SegmentStoreDB, SegmentStoreRedis, SegmentStoreDBRedis)
	}
	if c.Wait < 0 {
		fault("wait %v is negative: give how long a start may wait, such as 10s", c.Wait)
	}
	seen := make(map[string]bool)
	for i, s := range c.Segments {
		if err := s.Validate(); err != nil {
			fault("segments[%d]: %w", i, err)
		}
		if seen[s.Name] {
			fault("segments[%d]: the name %q is there twice: give each a name of its own", i, s.Name)
		}
		seen[s.Name] = true
	}
	return errs
}
