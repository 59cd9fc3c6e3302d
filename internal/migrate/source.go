package migrate

import (
	"fmt"
	"strings"
	"time"

	"github.com/snowlease/snowlease/snowflake"
)

// A Source describes the ids of another generator. Bits such as 41/10/12 are the widths of the
// time, the worker id and the sequence.
type Source struct {
	Name   string
	Layout snowflake.Layout
	// SequenceFirst reports that the sequence is above the worker id.
	SequenceFirst bool
	// Chooses reports that the generator chooses worker ids itself, so that the worker id after a
	// restart is unknown.
	Chooses bool
	// Workers are the worker ids of the old processes, which keep them, all of the layout. If it is
	// empty, they are unknown.
	Workers []int64

	first int64 // the sequence that each tick begins with
}

// Sources returns the sources that this package knows, sorted by name: other generators with
// their defaults, and the presets of package snowflake.
func Sources() []Source {
	twitter := snowflake.Twitter()
	since := func(epoch int64, l snowflake.Layout) snowflake.Layout {
		l.Epoch = epoch
		return l
	}
	const cosid = 1577203200000 // 2019-12-24T16:00Z
	return []Source{
		// The widths of baidu's bits are 28/22/13, in seconds. Only the place of the time matters.
		{Name: "baidu", Chooses: true, Layout: snowflake.Layout{Epoch: 1463673600000, TimeUnit: time.Second, TimeBits: 28, WorkerBits: 10, SequenceBits: 25}},
		{Name: "bwmarrin", Layout: twitter},
		{Name: "cosid", Chooses: true, Layout: since(cosid, twitter)},
		{Name: "cosid-js", Chooses: true, Layout: snowflake.Layout{Epoch: cosid, TimeUnit: time.Millisecond, TimeBits: 41, WorkerBits: 3, SequenceBits: 9}},
		{Name: "default", Layout: snowflake.Layout{}.WithDefaults()},
		{Name: "discord", Layout: snowflake.Discord()},
		{Name: "hutool", Chooses: true, Layout: twitter}, // from MAC and process id
		{Name: "jssafe", Layout: snowflake.JSSafe()},
		{Name: "leaf", Chooses: true, Layout: twitter},         // from ZooKeeper, a different one for each address
		{Name: "mybatis-plus", Chooses: true, Layout: twitter}, // from MAC and process id
		{Name: "pgedge", SequenceFirst: true, Layout: since(1672531200000, twitter)},
		{Name: "shardingsphere", Chooses: true, Layout: since(1477929600000, twitter)}, // 2016-11-01 in the time zone of the process, here +08:00
		{Name: "shenyu", Chooses: true, Layout: twitter},                               // at random
		sonyflake("sonyflake", time.Date(2014, 9, 1, 0, 0, 0, 0, time.UTC)),
		sonyflake("sonyflake2", time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)), // github.com/sony/sonyflake/v2
		{Name: "twitter", Layout: twitter},
		{Name: "wide", Layout: snowflake.Wide()},
		{Name: "yitter", Layout: snowflake.Yitter(), first: 5},
		{Name: "yitter-dotnet", Layout: since(1582165202020, snowflake.Yitter()), first: 5},
		{Name: "yitter-js", Layout: since(1577836800000, snowflake.Yitter()), first: 5},
	}
}

// sonyflake returns github.com/sony/sonyflake with its defaults; v2 has another start time.
func sonyflake(name string, start time.Time) Source {
	return Source{Name: name, SequenceFirst: true, Layout: snowflake.Layout{
		Epoch: start.UnixMilli(), TimeUnit: 10 * time.Millisecond, TimeBits: 39, WorkerBits: 16, SequenceBits: 8,
	}}
}

// Names returns the names of Sources, for people.
func Names() string {
	var names []string
	for _, s := range Sources() {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// Named returns the source with that name from Sources. Its error does not print the name, which
// may be a secret by mistake.
func Named(name string) (Source, error) {
	for _, s := range Sources() {
		if s.Name == name {
			return s, nil
		}
	}
	return Source{}, fmt.Errorf("the source is unknown: choose %s", Names())
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
