package snowflake

import (
	"fmt"
	"time"
)

// Parts are the fields of an id.
type Parts struct {
	Time     time.Time // start of the tick, UTC; may be ahead of the clock: see snowlease.Worker.Decode
	Worker   int64
	Business int64
	Sequence int64
}

// Decode splits an id into its fields. It is the inverse of Encode. It fails only if l cannot
// have issued the id, because the id is not positive or its time is beyond the layout.
func (l Layout) Decode(id int64) (Parts, error) {
	l = l.WithDefaults()
	if id <= 0 {
		return Parts{}, fmt.Errorf("snowflake: decode %d: an id is greater than 0", id)
	}
	tick := id >> (l.WorkerBits + l.BusinessBits + l.SequenceBits)
	if tick > l.maxTick() {
		return Parts{}, fmt.Errorf("snowflake: decode %d: its time is beyond the layout %v: decode it with the layout that issued it", id, l)
	}
	return Parts{
		Time:     l.TickTime(tick).UTC(),
		Worker:   id >> (l.BusinessBits + l.SequenceBits) & (1<<l.WorkerBits - 1),
		Business: id >> l.SequenceBits & (1<<l.BusinessBits - 1),
		Sequence: id & (1<<l.SequenceBits - 1),
	}, nil
}

// Encode composes an id from its fields. The time is rounded down to its tick. Encode
// fails if a field does not fit the layout, or if the id would be 0.
func (l Layout) Encode(p Parts) (int64, error) {
	l = l.WithDefaults()
	switch { // UnixMilli overflows for times far outside this range
	case p.Time.Before(l.TickTime(0)) || !p.Time.Before(l.Ends()):
		return 0, fmt.Errorf("snowflake: encode: time %s is not within the layout's %s to %s",
			stamp(p.Time), stamp(l.TickTime(0)), stamp(l.Ends()))
	case p.Worker < 0 || p.Worker >= 1<<l.WorkerBits:
		return 0, fmt.Errorf("snowflake: encode: worker %d is not 0 to %d", p.Worker, int64(1)<<l.WorkerBits-1)
	case p.Business < 0 || p.Business >= 1<<l.BusinessBits:
		return 0, fmt.Errorf("snowflake: encode: business number %d is not 0 to %d", p.Business, int64(1)<<l.BusinessBits-1)
	case p.Sequence < 0 || p.Sequence >= 1<<l.SequenceBits:
		return 0, fmt.Errorf("snowflake: encode: sequence %d is not 0 to %d", p.Sequence, int64(1)<<l.SequenceBits-1)
	}
	tick := (p.Time.UnixMilli() - l.epoch()) / l.unit()
	id := tick<<(l.WorkerBits+l.BusinessBits+l.SequenceBits) | p.Worker<<(l.BusinessBits+l.SequenceBits) |
		p.Business<<l.SequenceBits | p.Sequence
	if id == 0 {
		return 0, fmt.Errorf("snowflake: encode: all parts are 0, and 0 is not an id")
	}
	return id, nil
}
