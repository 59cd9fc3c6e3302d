package migrate

import (
	"fmt"
	"time"

	"github.com/snowlease/snowlease/snowflake"
)

// A Source describes the ids of another generator. Bits such as 41/10/12 are those of the
// time, the worker id and the sequence.
type Source struct {
	Name   string
	Layout snowflake.Layout
	// SequenceFirst reports that the sequence is above the worker id.
	SequenceFirst bool
}

// Bwmarrin is github.com/bwmarrin/snowflake with its defaults: 41/10/12 from Twitter's
// epoch.
func Bwmarrin() Source { return Source{Name: "bwmarrin", Layout: snowflake.Twitter()} }

// Leaf is Meituan's Leaf in snowflake mode: 41/10/12 from Twitter's epoch.
func Leaf() Source { return Source{Name: "leaf", Layout: snowflake.Twitter()} }

// Sonyflake is github.com/sony/sonyflake with its defaults: 39 bits of 10 ms from
// 2014-09-01, 8 of sequence, 16 of machine id.
func Sonyflake() Source { return sonyflake("sonyflake", time.Date(2014, 9, 1, 0, 0, 0, 0, time.UTC)) }

// SonyflakeV2 is github.com/sony/sonyflake/v2 with its defaults: the bits of Sonyflake,
// from 2025-01-01.
func SonyflakeV2() Source {
	return sonyflake("sonyflake2", time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC))
}

func sonyflake(name string, start time.Time) Source {
	return Source{name, snowflake.Layout{
		Epoch: start.UnixMilli(), TimeUnit: 10 * time.Millisecond, TimeBits: 39, WorkerBits: 16, SequenceBits: 8,
	}, true}
}

// Yitter is yitter/IdGenerator with its defaults: 6 bits of worker, 6 of sequence.
func Yitter() Source { return Source{Name: "yitter", Layout: snowflake.Yitter()} }

// CosID is CosId's snowflake in milliseconds: 41/10/12 from 2019-12-24T16:00Z.
func CosID() Source {
	l := snowflake.Twitter()
	l.Epoch = 1577203200000
	return Source{Name: "cosid", Layout: l}
}

// CosIDJavaScript is CosId's snowflake for JavaScript numbers: 41/3/9.
func CosIDJavaScript() Source {
	return Source{Name: "cosid-js", Layout: snowflake.Layout{
		Epoch: 1577203200000, TimeUnit: time.Millisecond, TimeBits: 41, WorkerBits: 3, SequenceBits: 9,
	}}
}

// Sources returns all sources of this package, sorted by name.
func Sources() []Source {
	return []Source{Bwmarrin(), CosID(), CosIDJavaScript(), Leaf(), Sonyflake(), SonyflakeV2(), Yitter()}
}

// Decode returns the parts of an old id.
func (s Source) Decode(id int64) (snowflake.Parts, error) {
	p, err := s.Layout.Decode(id)
	if err != nil {
		return p, fmt.Errorf("migrate: id %d is not one of %s: %w", id, s.Name, err)
	}
	if l := s.Layout.WithDefaults(); s.SequenceFirst {
		p.Worker = id & (1<<l.WorkerBits - 1)
		p.Business = id >> l.WorkerBits & (1<<l.BusinessBits - 1)
		p.Sequence = id >> (l.WorkerBits + l.BusinessBits) & (1<<l.SequenceBits - 1)
	}
	return p, nil
}
