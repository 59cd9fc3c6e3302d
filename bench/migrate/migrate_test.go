// Package migrate_test continues streams of ids that the real libraries have begun.
package migrate_test

import (
	"slices"
	"testing"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"
	sonyflake1 "github.com/sony/sonyflake"
	"github.com/sony/sonyflake/v2"
	"github.com/stretchr/testify/require"
	"github.com/yitter/idgenerator-go/idgen"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/migrate"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A stream is a library with its default layout.
type stream struct {
	source string // the name of its migrate.Source
	// start returns what makes the next id of a process.
	start func(t *testing.T, worker int64) func() int64
	// decode is the library's own.
	decode func(t *testing.T, id int64) snowflake.Parts
}

var streams = []stream{
	{
		"bwmarrin",
		func(t *testing.T, worker int64) func() int64 {
			node, err := bwmarrin.NewNode(worker)
			require.NoError(t, err)
			return func() int64 { return node.Generate().Int64() }
		},
		func(_ *testing.T, id int64) snowflake.Parts {
			n := bwmarrin.ParseInt64(id)
			return snowflake.Parts{Time: time.UnixMilli(n.Time()), Worker: n.Node(), Sequence: n.Step()}
		},
	},
	{
		"sonyflake",
		func(t *testing.T, worker int64) func() int64 {
			sf, err := sonyflake1.New(sonyflake1.Settings{MachineID: func() (uint16, error) { return uint16(worker), nil }})
			require.NoError(t, err)
			return func() int64 {
				id, err := sf.NextID()
				require.NoError(t, err)
				return int64(id)
			}
		},
		func(_ *testing.T, id int64) snowflake.Parts {
			start := time.Date(2014, 9, 1, 0, 0, 0, 0, time.UTC)
			return snowflake.Parts{
				Time:   start.Add(sonyflake1.ElapsedTime(uint64(id))),
				Worker: int64(sonyflake1.MachineID(uint64(id))), Sequence: int64(sonyflake1.SequenceNumber(uint64(id))),
			}
		},
	},
	{
		"sonyflake2",
		func(t *testing.T, worker int64) func() int64 {
			sf := newSonyflake(t, worker)
			return func() int64 {
				id, err := sf.NextID()
				require.NoError(t, err)
				return id
			}
		},
		func(t *testing.T, id int64) snowflake.Parts {
			sf := newSonyflake(t, 1)
			parts := sf.Decompose(id)
			return snowflake.Parts{Time: sf.ToTime(id), Worker: parts["machine"], Sequence: parts["sequence"]}
		},
	},
	{
		"yitter",
		func(_ *testing.T, worker int64) func() int64 {
			return idgen.NewDefaultIdGenerator(idgen.NewIdGeneratorOptions(uint16(worker))).NewLong
		},
		func(_ *testing.T, id int64) snowflake.Parts {
			options := idgen.NewIdGeneratorOptions(1)
			g := idgen.DefaultIdGenerator{Options: options}
			return snowflake.Parts{
				Time:   g.ExtractTime(id),
				Worker: id >> options.SeqBitLength & (1<<options.WorkerIdBitLength - 1), Sequence: id & (1<<options.SeqBitLength - 1),
			}
		},
	},
}

func newSonyflake(t *testing.T, worker int64) *sonyflake.Sonyflake {
	sf, err := sonyflake.New(sonyflake.Settings{MachineID: func() (int, error) { return int(worker), nil }})
	require.NoError(t, err)
	return sf
}

// open starts a process of ours according to the plan.
func open(t *testing.T, p migrate.Plan) *idworker.IdWorker {
	center := memcenter.New()
	req := memcenter.NewRequest("orders", p.Layout)
	req.Owner = lease.NewOwner()
	require.NoError(t, center.Init(t.Context(), req))
	w, err := idworker.Open(t.Context(), idworker.Config{Namespace: "orders", Layout: p.Layout, Workers: snowlease.Workers(p.Workers)}, idworker.Clients{Center: center})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

func TestGoesOnWithTheStreamOf(t *testing.T) {
	const n = 1000
	for _, s := range streams {
		t.Run(s.source, func(t *testing.T) {
			source, err := migrate.Named(s.source)
			require.NoError(t, err)
			old := []func() int64{s.start(t, 3), s.start(t, 7)}
			var theirs []int64
			for range n {
				theirs = append(theirs, old[0](), old[1]())
			}
			source.Workers = []int64{3, 7}
			plan, err := migrate.Make(source, theirs, time.Now())
			require.NoError(t, err)
			greatest := slices.Max(theirs)
			require.Equal(t, greatest, plan.Last)

			// The source is read as the library reads it.
			for _, id := range theirs {
				parts, err := source.Decode(id)
				require.NoError(t, err)
				require.Equal(t, decoded(s.decode(t, id)), decoded(parts))
			}

			// Ours begin at plan.NotBefore, and run next to theirs if the plan allows it.
			time.Sleep(time.Until(plan.NotBefore))
			w := open(t, plan)
			seen := map[int64]bool{}
			for _, id := range theirs {
				require.False(t, seen[id])
				seen[id] = true
			}
			last := greatest
			for range n {
				id, err := w.NextID()
				require.NoError(t, err)
				require.Greater(t, id, last)
				require.False(t, seen[id])
				last, seen[id] = id, true

				ours, err := w.Decode(id)
				require.NoError(t, err)
				as := s.decode(t, id)
				require.Equal(t, ours.Time.UnixMilli(), as.Time.UnixMilli())
				if !plan.SideBySide {
					continue
				}
				require.Equal(t, decoded(ours), decoded(as))
				require.NotContains(t, source.Workers, as.Worker)
				for _, next := range old {
					id := next()
					require.False(t, seen[id], "%d was made by both", id)
					seen[id] = true
				}
			}
		})
	}
}

func decoded(p snowflake.Parts) [3]int64 { return [3]int64{p.Time.UnixMilli(), p.Worker, p.Sequence} }
