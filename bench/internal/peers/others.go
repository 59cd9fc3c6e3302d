package peers

import (
	"errors"
	"hash/maphash"
	"slices"
	"sync/atomic"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"
	"github.com/edwingeng/slog"
	"github.com/edwingeng/wuid/callback/wuid"
	godruoyi "github.com/godruoyi/go-snowflake"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/segmentio/ksuid"
	"github.com/sony/sonyflake/v2"
	"github.com/yitter/idgenerator-go/idgen"
	"gosuda.org/randflake"
)

// BwmarrinDefault is the name of the peer that most programs have.
const BwmarrinDefault = "bwmarrin/snowflake, default: 10 node and 12 step bits"

func others() []Maker {
	return slices.Concat([]Maker{
		{
			Name: "bwmarrin/snowflake", Setting: "default: 10 node and 12 step bits",
			Kind: Peer, Rises: true, ByTime: true, Bits: 63, Layout: Equal, Open: openBwmarrin(10, 12),
		},
		{
			Name: "bwmarrin/snowflake", Setting: "best: 5 node and 17 step bits",
			Kind: Peer, Best: true, Rises: true, ByTime: true, Bits: 63, Layout: Layout{5, 17, time.Millisecond}, Open: openBwmarrin(5, 17),
		},
		{
			Name: "sony/sonyflake/v2", Setting: "default: 10 ms, 16 machine and 8 sequence bits",
			Kind: Peer, Rises: true, ByTime: true, Bits: 63, Layout: Layout{16, 8, 10 * time.Millisecond}, Open: openSonyflake(sonyflake.Settings{}),
		},
		{
			Name: "sony/sonyflake/v2", Setting: "best: 1 ms, 5 machine and 17 sequence bits",
			Kind: Peer, Best: true, Rises: true, ByTime: true, Bits: 63,
			Layout: Layout{5, 17, time.Millisecond}, Open: openSonyflake(sonyflake.Settings{TimeUnit: time.Millisecond, BitsMachineID: 5, BitsSequence: 17}),
		},
		{
			Name: "sony/sonyflake/v2", Setting: "equal: 1 ms, 10 machine and 12 sequence bits",
			Kind: Peer, Rises: true, ByTime: true, Bits: 63, Layout: Equal,
			Open: openSonyflake(sonyflake.Settings{TimeUnit: time.Millisecond, BitsMachineID: 10, BitsSequence: 12}),
		},
		{
			Name: "yitter/idgenerator-go", Setting: "default: 6 worker and 6 sequence bits",
			Kind: Peer, Rises: true, ByTime: true, Bits: 63, Layout: Layout{6, 6, time.Millisecond}, Open: openYitter(6, 6),
		},
		{
			Name: "yitter/idgenerator-go", Setting: "best: 1 worker and 21 sequence bits",
			Kind: Peer, Best: true, Rises: true, ByTime: true, Bits: 63, Layout: Layout{1, 21, time.Millisecond}, Open: openYitter(1, 21),
		},
		{
			Name: "yitter/idgenerator-go", Setting: "equal: 10 worker and 12 sequence bits",
			Kind: Peer, Rises: true, ByTime: true, Bits: 63, Layout: Equal, Open: openYitter(10, 12),
		},
		{
			Name: "godruoyi/go-snowflake", Setting: "default and best: 10 machine and 12 sequence bits",
			Kind: Peer, Best: true, Rises: true, ByTime: true, Bits: 63, Layout: Equal, Open: func() (Source, error) {
				godruoyi.SetMachineID(1)
				next := func() int64 { return int64(godruoyi.ID()) }
				return Source{Next: next, Fill: each(next), Loop: func(n int) {
					for range n {
						godruoyi.ID()
					}
				}}, nil
			},
		},
		{
			Name: "edwingeng/wuid", Setting: "default and best: no time in it",
			Kind: Peer, Best: true, Rises: true, Bits: 63, Open: openWUID,
		},
		{
			Name: "randflake", Setting: "default and best: 1 s, 17 node and 17 sequence bits, encrypted",
			Kind: Peer, Best: true, Bits: 64, Layout: Layout{17, 17, time.Second}, Open: openRandflake,
		},
		{
			Name: "rs/xid", Setting: "default and best",
			Kind: Peer, Best: true, ByTime: true, Bits: 96, Layout: Layout{40, 24, time.Second}, Open: wide(
				func(h *hasher) int64 { id := xid.New(); return h.of(id[:]) },
				func(n int) {
					for range n {
						xid.New()
					}
				}),
		},
		{
			Name: "google/uuid v7", Setting: "default",
			Kind: Peer, ByTime: true, Bits: 128, Open: openUUID(false),
		},
		{
			Name: "google/uuid v7", Setting: "best: EnableRandPool",
			Kind: Peer, Best: true, ByTime: true, Bits: 128, Open: openUUID(true),
		},
		{
			Name: "oklog/ulid/v2", Setting: "default and best: Make",
			Kind: Peer, Best: true, ByTime: true, Bits: 128, Open: wide(
				func(h *hasher) int64 { id := ulid.Make(); return h.of(id[:]) },
				func(n int) {
					for range n {
						ulid.Make()
					}
				}),
		},
		{
			Name: "segmentio/ksuid", Setting: "default; batches by Sequence",
			Kind: Peer, ByTime: true, Bits: 160, Open: openKSUID,
		},
		{
			Name: "segmentio/ksuid", Setting: "best: FastRander; batches by Sequence",
			Kind: Peer, Best: true, ByTime: true, Bits: 160, Open: func() (Source, error) {
				ksuid.SetRand(ksuid.FastRander)
				return openKSUID()
			},
		},
	}, standardUUID)
}

func openBwmarrin(nodeBits, stepBits uint8) func() (Source, error) {
	return func() (Source, error) {
		bwmarrin.NodeBits, bwmarrin.StepBits = nodeBits, stepBits
		node, err := bwmarrin.NewNode(1)
		next := func() int64 { return int64(node.Generate()) }
		return Source{Next: next, Fill: each(next), Loop: func(n int) {
			for range n {
				node.Generate()
			}
		}}, err
	}
}

func openSonyflake(s sonyflake.Settings) func() (Source, error) {
	return func() (Source, error) {
		s.MachineID = func() (int, error) { return 1, nil }
		sf, err := sonyflake.New(s)
		next := func() int64 {
			id, err := sf.NextID()
			check(err)
			return id
		}
		return Source{Next: next, Fill: each(next), Loop: func(n int) {
			for range n {
				_, err := sf.NextID()
				check(err)
			}
		}}, err
	}
}

func openYitter(workerBits, seqBits byte) func() (Source, error) {
	return func() (Source, error) {
		options := idgen.NewIdGeneratorOptions(1)
		options.WorkerIdBitLength, options.SeqBitLength = workerBits, seqBits
		g := idgen.NewDefaultIdGenerator(options)
		return Source{Next: g.NewLong, Fill: each(g.NewLong), Loop: func(n int) {
			for range n {
				g.NewLong()
			}
		}}, nil
	}
}

func openWUID() (Source, error) {
	var high atomic.Int64
	w := wuid.NewWUID("bench", slog.NewDumbLogger())
	err := w.LoadH28WithCallback(func() (int64, func(), error) { return high.Add(1), nil, nil })
	return Source{Next: w.Next, Fill: each(w.Next), Loop: func(n int) {
		for range n {
			w.Next()
		}
	}}, err
}

// openRandflake waits where Generate returns an error until the second is over.
func openRandflake() (Source, error) {
	now := time.Now().Unix()
	g, err := randflake.NewGenerator(1, now, now+86400, []byte("a secret of 16 B"))
	next := func() int64 {
		for {
			id, err := g.Generate()
			if err == nil {
				return id
			}
			if !errors.Is(err, randflake.ErrResourceExhausted) {
				panic(err)
			}
			time.Sleep(time.Millisecond)
		}
	}
	return Source{Next: next, Fill: each(next), Loop: func(n int) {
		for range n {
			next()
		}
	}}, err
}

func openUUID(pool bool) func() (Source, error) {
	return func() (Source, error) {
		if pool {
			uuid.EnableRandPool()
		}
		return wide(
			func(h *hasher) int64 { id := uuid.Must(uuid.NewV7()); return h.of(id[:]) },
			func(n int) {
				for range n {
					_, err := uuid.NewV7()
					check(err)
				}
			})()
	}
}

func openKSUID() (Source, error) {
	h := newHasher()
	return Source{
		Next: func() int64 { id := ksuid.New(); return h.of(id[:]) },
		Loop: func(n int) {
			for range n {
				ksuid.New()
			}
		},
		Fill: func(dst []int64) {
			s := ksuid.Sequence{Seed: ksuid.New()} // of 65,536
			for i := range dst {
				id, err := s.Next()
				check(err)
				dst[i] = h.of(id[:])
			}
		},
		Batches: true,
	}, nil
}

// standardUUID is Go's own package, from Go 1.27 on.
var standardUUID []Maker

// A hasher makes 64 bits of longer ids, to look for equal ones: two of a hundred
// million differ in truth and agree here once in four thousand runs.
type hasher struct{ seed maphash.Seed }

func newHasher() *hasher { return &hasher{maphash.MakeSeed()} }

func (h *hasher) of(id []byte) int64 { return int64(maphash.Bytes(h.seed, id)) }

func wide(next func(*hasher) int64, loop func(int)) func() (Source, error) {
	return func() (Source, error) {
		h := newHasher()
		one := func() int64 { return next(h) }
		return Source{Next: one, Fill: each(one), Loop: loop}, nil
	}
}
