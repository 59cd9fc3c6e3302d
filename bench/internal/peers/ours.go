package peers

import (
	"context"
	"time"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/snowflake"
)

// Names of ours.
const (
	Generator = "snowlease Generator, default: 5 worker and 17 sequence bits"
	Twitter   = "snowlease Generator, Twitter's 10 worker and 12 sequence bits"
	Blocks    = "snowlease Generator, default; each goroutine has blocks of 64"
	IDWorker  = "snowlease *IdWorker, default"
)

func ours() []Maker {
	return []Maker{
		{
			Name: "snowlease Generator", Setting: "default: 5 worker and 17 sequence bits",
			Kind: Ours, Rises: true, ByTime: true, Bits: 63, Layout: standard, Open: generated(snowflake.Layout{}),
		},
		{
			Name: "snowlease Generator", Setting: "Twitter's 10 worker and 12 sequence bits",
			Kind: Ours, Rises: true, ByTime: true, Bits: 63, Layout: Equal, Open: generated(snowflake.Twitter()),
		},
		{
			Name: "snowlease Generator", Setting: "default; each goroutine has blocks of 64",
			Kind: Ours, Rises: true, ByTime: true, Bits: 63, Layout: standard, Open: openBlocks,
		},
		{
			Name: "snowlease *IdWorker", Setting: "default",
			Kind: Ours, Rises: true, ByTime: true, Bits: 63, Layout: standard, Open: func() (Source, error) {
				w, err := snowlease.Fixed(1, snowlease.Config{})
				if err != nil {
					return Source{}, err
				}
				return Source{
					Loop: func(n int) {
						for range n {
							if _, err := w.NextID(); err != nil {
								wait(w.NextIDWait)
							}
						}
					},
					Next:    func() int64 { return id(w.NextIDWait, w.NextID) },
					Fill:    func(dst []int64) { check(w.NextIDs(context.Background(), dst)) },
					Batches: true,
				}, nil
			},
		},
	}
}

// standard is the layout of ours by default.
var standard = Layout{5, 17, time.Millisecond}

// NewGenerator returns a generator that has a worker id for the rest of its life.
func NewGenerator(l snowflake.Layout) (*generator.Generator, error) {
	g, now := generator.New(l), time.Now().UnixMilli()
	_, err := g.Adopt(generator.Range{
		Worker: 1, Floor: now - 1, Ceiling: g.Layout().Ends().UnixMilli() - 1, Now: now, At: g.Elapsed(),
	})
	return g, err
}

func generated(l snowflake.Layout) func() (Source, error) {
	return func() (Source, error) {
		g, err := NewGenerator(l)
		if err != nil {
			return Source{}, err
		}
		return Source{
			Loop: func(n int) {
				for range n {
					if _, err := g.NextID(); err != nil {
						wait(g.NextIDWait)
					}
				}
			},
			Next:    func() int64 { return id(g.NextIDWait, g.NextID) },
			Fill:    func(dst []int64) { check(g.NextIDs(context.Background(), dst)) },
			Batches: true,
		}, nil
	}
}

// A block is the issuer of one goroutine, which takes 64 ids at a time from a source
// that all share. Ids ascend within a goroutine, not across several.
type block struct {
	source snowflake.Source // shared, such as an *idworker.IdWorker
	ids    [64]int64
	rest   []int64
}

// nextID is for one goroutine.
func (b *block) nextID(ctx context.Context) (int64, error) {
	if len(b.rest) == 0 {
		if err := b.source.NextIDs(ctx, b.ids[:]); err != nil {
			return 0, err
		}
		b.rest = b.ids[:]
	}
	id := b.rest[0]
	b.rest = b.rest[1:]
	return id, nil
}

func openBlocks() (Source, error) {
	g, err := NewGenerator(snowflake.Layout{})
	own := func() Source {
		b := &block{source: g}
		next := func() int64 {
			n, err := b.nextID(context.Background())
			check(err)
			return n
		}
		return Source{Next: next, Fill: each(next), Loop: func(n int) {
			for range n {
				_, err := b.nextID(context.Background())
				check(err)
			}
		}}
	}
	return Source{own: own}, err
}

// wait makes an id once a burst has used up its lead.
func wait(next func(context.Context) (int64, error)) {
	_, err := next(context.Background())
	check(err)
}

// id makes an id, and waits where a burst has used up its lead.
func id(wait func(context.Context) (int64, error), next func() (int64, error)) int64 {
	n, err := next()
	if err != nil {
		n, err = wait(context.Background())
		check(err)
	}
	return n
}

func check(err error) {
	if err != nil {
		panic(err) // an id that was not made would make a figure untrue
	}
}
