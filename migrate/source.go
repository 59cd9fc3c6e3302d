package migrate

import (
	"fmt"
	"strings"
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

// Sources returns the sources that this package knows, sorted by name: other generators with
// their defaults.
func Sources() []Source {
	// CosId counts milliseconds from 2019-12-24T16:00Z.
	cosid := snowflake.Twitter()
	cosid.Epoch = 1577203200000
	return []Source{
		{Name: "bwmarrin", Layout: snowflake.Twitter()}, // github.com/bwmarrin/snowflake
		{Name: "cosid", Layout: cosid},
		{Name: "cosid-js", Layout: snowflake.Layout{ // CosId for JavaScript numbers
			Epoch: cosid.Epoch, TimeUnit: time.Millisecond, TimeBits: 41, WorkerBits: 3, SequenceBits: 9,
		}},
		{Name: "leaf", Layout: snowflake.Twitter()}, // Meituan's Leaf in snowflake mode
		sonyflake("sonyflake", time.Date(2014, 9, 1, 0, 0, 0, 0, time.UTC)),
		sonyflake("sonyflake2", time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)), // github.com/sony/sonyflake/v2
		{Name: "yitter", Layout: snowflake.Yitter()},                         // yitter/IdGenerator
	}
}

// sonyflake is github.com/sony/sonyflake with its defaults, from another start in v2.
func sonyflake(name string, start time.Time) Source {
	return Source{name, snowflake.Layout{
		Epoch: start.UnixMilli(), TimeUnit: 10 * time.Millisecond, TimeBits: 39, WorkerBits: 16, SequenceBits: 8,
	}, true}
}

// Named returns the one of Sources with that name.
func Named(name string) (Source, error) {
	all := Sources()
	names := make([]string, len(all))
	for i, s := range all {
		if s.Name == name {
			return s, nil
		}
		names[i] = s.Name
	}
	return Source{}, fmt.Errorf("migrate: no source %q: use %s", name, strings.Join(names, ", "))
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
