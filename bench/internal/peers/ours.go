package peers

import (
	"context"
	"time"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/snowflake"
)

// Names of ours.
const (
	Generator = "snowlease Generator, default: 5 worker and 17 sequence bits"
	IDWorker  = "snowlease *IdWorker, default"
)

func ours() []Maker {
	return []Maker{
		{
			Name: "snowlease Generator", Setting: "default: 5 worker and 17 sequence bits",
			Kind: Ours, Rises: true, ByTime: true, Bits: 63, Open: generator(snowflake.Layout{}),
		},
		{
			Name: "snowlease Generator", Setting: "Twitter's 10 worker and 12 sequence bits",
			Kind: Ours, Rises: true, ByTime: true, Bits: 63, Open: generator(snowflake.Twitter()),
		},
		{
			Name: "snowlease *IdWorker", Setting: "default",
			Kind: Ours, Rises: true, ByTime: true, Bits: 63, Open: func() (Source, error) {
				w, err := idworker.Fixed(snowflake.Layout{}, 1)
				if err != nil {
					return Source{}, err
				}
				return Source{
					Loop: func(n int) {
						for range n {
							_, _ = w.NextID()
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

// NewGenerator returns a generator that has a worker id for the rest of its life.
func NewGenerator(l snowflake.Layout) (*snowflake.Generator, error) {
	g, err := snowflake.NewGenerator(l)
	if err != nil {
		return nil, err
	}
	now := time.Now().UnixMilli()
	_, err = g.Adopt(snowflake.Range{
		Worker: 1, Floor: now - 1, Ceiling: g.Layout().Ends().UnixMilli() - 1, Now: now, At: g.Elapsed(),
	})
	return g, err
}

func generator(l snowflake.Layout) func() (Source, error) {
	return func() (Source, error) {
		g, err := NewGenerator(l)
		if err != nil {
			return Source{}, err
		}
		return Source{
			Loop: func(n int) {
				for range n {
					_, _ = g.NextID()
				}
			},
			Next:    func() int64 { return id(g.NextIDWait, g.NextID) },
			Fill:    func(dst []int64) { check(g.NextIDs(context.Background(), dst)) },
			Batches: true,
		}, nil
	}
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
