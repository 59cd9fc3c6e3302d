package snowflake

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	// DefaultEpoch is 2020-01-01 00:00:00 +08:00 in Unix milliseconds.
	DefaultEpoch = 1577808000000
	// UnixEpoch is the value of Layout.Epoch for 1970-01-01 00:00:00 UTC, because 0 means not set.
	UnixEpoch = -1
)

// idBits is the number of bits of an id without the sign bit, which is always 0.
const idBits = 63

// Layout defines the bits of an id. From the top:
//
//	0 | time | worker | business | sequence
//
// The zero Layout is the default: epoch 2020-01-01 +08:00, ticks of 1 ms, 41 time bits (until
// 2089), 5 worker bits (32 workers) and 17 sequence bits (131,072 ids per millisecond and
// worker). In any other Layout, each zero field has its own default.
//
// All processes that share worker ids must use the same Layout; the center pins it. A Layout is a
// value and safe for concurrent use.
type Layout struct {
	// Epoch is the start of time, in Unix milliseconds. UnixEpoch (-1) means 1970-01-01, and 0 means
	// not set. A worker refuses any other epoch before 2000, since that may be a number of seconds.
	// Default: DefaultEpoch (1577808000000).
	Epoch int64 `yaml:"epoch" json:"epoch" env:"EPOCH"`
	// TimeUnit is the length of a tick: 1 ms to 1 h, in whole milliseconds. Default: 1 ms.
	TimeUnit time.Duration `yaml:"time_unit" json:"time_unit" env:"TIME_UNIT"`
	// TimeBits is the width of the tick count. Default: the bits that the other fields leave of 63.
	TimeBits uint8 `yaml:"time_bits" json:"time_bits" env:"TIME_BITS"`
	// WorkerBits is the width of the worker id, 1 to 20. Default: 5.
	WorkerBits uint8 `yaml:"worker_bits" json:"worker_bits" env:"WORKER_BITS"`
	// BusinessBits is the width of the business number, 0 to 20. Default: 0.
	BusinessBits uint8 `yaml:"business_bits" json:"business_bits" env:"BUSINESS_BITS"`
	// SequenceBits is the width of the sequence within a tick, 1 to 31. Default: the bits that
	// worker and business leave of 22. Required if they leave none.
	SequenceBits uint8 `yaml:"sequence_bits" json:"sequence_bits" env:"SEQUENCE_BITS"`
}

const (
	maxWorkerBits   = 20
	maxBusinessBits = 20
	maxSequenceBits = 31
	defaultWorkers  = 5
	lowBits         = 22 // below the 41 time bits of the default
)

// Twitter returns the layout of Twitter's snowflake: 41/10/12, epoch 2010-11-04T01:42:54.657Z.
func Twitter() Layout {
	return Layout{Epoch: 1288834974657, TimeUnit: time.Millisecond, TimeBits: 41, WorkerBits: 10, SequenceBits: 12}
}

// Discord returns Discord's layout, epoch 2015-01-01T00:00:00Z. Discord documents 42/10/12 bits,
// which is the same as 41/10/12 as long as ids are positive. Discord calls the upper half of the
// worker bits the internal worker id and the lower half the process id.
func Discord() Layout {
	l := Twitter()
	l.Epoch = 1420070400000
	return l
}

// Wide returns a layout of 1,024 workers with 4,096 ids per millisecond each: 41/10/12,
// DefaultEpoch.
func Wide() Layout {
	l := Twitter()
	l.Epoch = DefaultEpoch
	return l
}

// Yitter returns the default layout of yitter/IdGenerator in Go: 6 worker and 6 sequence bits,
// epoch 2020-02-20T02:20:02+08:00. Its ids stay below 2^53.
func Yitter() Layout {
	return Layout{Epoch: 1582136402000, TimeUnit: time.Millisecond, TimeBits: 41, WorkerBits: 6, SequenceBits: 6}
}

// JSSafe returns a layout whose ids stay below 2^53, so that JavaScript numbers hold them:
// 41/6/6, DefaultEpoch, 64 ids per millisecond and worker.
func JSSafe() Layout {
	l := Yitter()
	l.Epoch = DefaultEpoch
	return l
}

// Preset returns the layout with the given name: default, twitter, discord, wide, yitter or
// jssafe, ignoring case. The empty name means default. Any other name is an error.
func Preset(name string) (Layout, error) {
	presets := map[string]Layout{
		"": Layout{}.WithDefaults(), "default": Layout{}.WithDefaults(), "twitter": Twitter(), "discord": Discord(),
		"wide": Wide(), "yitter": Yitter(), "jssafe": JSSafe(),
	}
	if l, ok := presets[strings.ToLower(name)]; ok {
		return l, nil
	}
	shown := strconv.Quote(name)
	if len(name) > 40 || strings.ContainsAny(name, ":=") { // it may be a DSN in the wrong place
		shown = fmt.Sprintf("of %d bytes", len(name))
	}
	return Layout{}, fmt.Errorf("snowflake: layout preset %s is unknown: choose default, twitter, discord, wide, yitter or jssafe", shown)
}

// WithDefaults returns l with its zero fields filled in.
func (l Layout) WithDefaults() Layout {
	l.Epoch = cmp.Or(l.Epoch, DefaultEpoch)
	l.TimeUnit = cmp.Or(l.TimeUnit, time.Millisecond)
	l.WorkerBits = cmp.Or(l.WorkerBits, defaultWorkers)
	if used := int(l.WorkerBits) + int(l.BusinessBits); l.SequenceBits == 0 && used < lowBits {
		l.SequenceBits = uint8(lowBits - used)
	}
	if used := int(l.WorkerBits) + int(l.BusinessBits) + int(l.SequenceBits); l.TimeBits == 0 && used < idBits {
		l.TimeBits = uint8(idBits - used)
	}
	return l
}

// Validate applies the defaults and returns an error that joins all problems of l, or nil. It
// does not compare l with the clock: see CheckTime. If l is invalid, the results of the other
// methods are meaningless.
func (l Layout) Validate() error {
	l = l.WithDefaults()
	var errs []error
	check := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("snowflake: layout: "+format, args...))
		}
	}
	check(l.Epoch < UnixEpoch, "epoch %d is before 1970: give Unix milliseconds", l.Epoch)
	check(l.TimeUnit < time.Millisecond || l.TimeUnit%time.Millisecond != 0 || l.TimeUnit > time.Hour,
		"time unit %v is not a whole number of milliseconds from 1ms to 1h", l.TimeUnit)
	worker, business, sequence := l.WorkerBits < 1 || l.WorkerBits > maxWorkerBits, l.BusinessBits > maxBusinessBits, l.SequenceBits > maxSequenceBits
	check(worker, "worker bits %d are not 1 to %d", l.WorkerBits, maxWorkerBits)
	check(business, "business bits %d are not 0 to %d", l.BusinessBits, maxBusinessBits)
	check(sequence, "sequence bits %d are not 1 to %d", l.SequenceBits, maxSequenceBits)
	if worker || business || sequence { // the sums mean nothing
		return errors.Join(errs...)
	}
	sum, none := l.Bits(), l.SequenceBits < 1
	check(none, "worker %d + business %d bits leave none of %d for the sequence: set sequence bits, 1 to %d",
		l.WorkerBits, l.BusinessBits, lowBits, maxSequenceBits)
	check(!none && l.TimeBits < 1, "no bits are left for the time: use fewer bits for worker, business or sequence")
	check(!none && l.TimeBits > 0 && sum > idBits, "time %d + worker %d + business %d + sequence %d bits are %d: an id has %d",
		l.TimeBits, l.WorkerBits, l.BusinessBits, l.SequenceBits, sum, idBits)
	return errors.Join(errs...)
}

// MinLife is how long the time field of a layout in use must last at least.
const MinLife = 365 * 24 * time.Hour

// CheckTime returns an error unless a valid l can issue ids at now. The epoch must have passed,
// and be UnixEpoch or not before 2000 (an earlier one may be in seconds). The time field must
// last for at least MinLife from now.
func (l Layout) CheckTime(now time.Time) error {
	const year2000 = 946684800000
	l = l.WithDefaults()
	if l.Epoch != UnixEpoch && l.Epoch < year2000 {
		advice := "give Unix milliseconds"
		if ms := l.Epoch * 1000; ms >= year2000 {
			advice += fmt.Sprintf(", as %d for %s", ms, stamp(time.UnixMilli(ms)))
		}
		return fmt.Errorf("snowflake: layout: epoch %d is %s, before 2000: %s", l.Epoch, stamp(time.UnixMilli(l.Epoch)), advice)
	}
	if ms := now.UnixMilli(); ms < l.Epoch {
		return fmt.Errorf("snowflake: layout: epoch %d (%s) lies after now (%s): choose an earlier epoch",
			l.Epoch, stamp(time.UnixMilli(l.Epoch)), stamp(now))
	}
	if end := l.Ends(); end.Sub(now) < MinLife {
		return fmt.Errorf("snowflake: layout: %d time bits of %v end at %s, less than a year from %s: take a later epoch, more bits or longer units",
			l.TimeBits, l.TimeUnit, stamp(end), stamp(now))
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Bits returns the number of bits that ids of l use, with defaults applied. It is at most 63 if l
// is valid. JavaScript numbers hold ids of up to 53 bits.
func (l Layout) Bits() int {
	l = l.WithDefaults()
	return int(l.TimeBits) + int(l.WorkerBits) + int(l.BusinessBits) + int(l.SequenceBits)
}

// Workers returns the number of worker ids, 2^WorkerBits.
func (l Layout) Workers() int64 { return 1 << l.WithDefaults().WorkerBits }

// PerTick returns the number of ids per tick, worker and business number,
// 2^SequenceBits.
func (l Layout) PerTick() int64 { return 1 << l.WithDefaults().SequenceBits }

// Ends returns the time at which the time field runs out or milliseconds overflow an int64,
// whichever is earlier.
func (l Layout) Ends() time.Time {
	l = l.WithDefaults()
	return time.UnixMilli(l.epoch() + (l.maxTick()+1)*l.unit())
}

// String returns the layout's fingerprint, such as "epoch=1577808000000 unit=1ms bits=41/5/0/17"
// (time/worker/business/sequence). Two layouts have the same fingerprint if and only if they
// produce the same ids.
func (l Layout) String() string {
	l = l.WithDefaults()
	return fmt.Sprintf("epoch=%d unit=%v bits=%d/%d/%d/%d",
		l.epoch(), l.TimeUnit, l.TimeBits, l.WorkerBits, l.BusinessBits, l.SequenceBits)
}

// Ticks returns the first and last tick that lie wholly within the milliseconds (floor, ceiling].
// If there is no such tick, first is greater than last. Ranges that do not overlap share no tick,
// whatever the time unit.
func (l Layout) Ticks(floor, ceiling int64) (first, last int64) {
	l = l.WithDefaults()
	epoch, unit := l.epoch(), l.unit()
	if floor >= epoch {
		first = (floor-epoch)/unit + 1
	}
	// Bounding by the end first keeps the sum from overflowing.
	last = (max(epoch, min(ceiling, l.Ends().UnixMilli()-1)+1)-epoch)/unit - 1
	return first, last
}

// TickTime returns the time at which a tick starts.
func (l Layout) TickTime(tick int64) time.Time {
	l = l.WithDefaults()
	return time.UnixMilli(l.epoch() + tick*l.unit())
}

// epoch returns the start of time, in Unix milliseconds.
func (l Layout) epoch() int64 {
	if l.Epoch == UnixEpoch {
		return 0
	}
	return l.Epoch
}

// unit returns the tick length in milliseconds. It is at least 1 even if l is invalid, because
// callers divide by it.
func (l Layout) unit() int64 { return max(1, int64(l.TimeUnit/time.Millisecond)) }

// maxTick returns the last tick that fits the time field and ends within an int64 of
// milliseconds.
func (l Layout) maxTick() int64 {
	return min(1<<l.TimeBits, (math.MaxInt64-l.epoch())/l.unit()) - 1
}
