package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/snowlease/snowlease/snowflake"
)

// A Plan describes how to continue a stream of ids. Make returns it.
type Plan struct {
	Source Source
	// Layout and Workers are the configuration of the new processes.
	Layout  snowflake.Layout
	Workers string
	// Last is the largest id of the sample, except for the odd ids.
	Last int64
	// Odd has the ids of the sample that the generator cannot have issued: ids below 2^32, as from
	// AUTO_INCREMENT, and ids whose time is more than a year ahead.
	Odd []int64
	// NotBefore is the start of the tick after the latest id of the sample. No new process may start
	// earlier with a worker id that an old process had. Old processes that keep running move this
	// time, so when the last one has stopped, make a plan from the largest id again.
	NotBefore time.Time
	// SideBySide reports that old and new processes may run together if the old ones
	// keep to the worker ids of Source. Otherwise stop the last old process before you
	// start the first new one.
	SideBySide bool
	// Note has the reason and precautions.
	Note string
}

// ErrNoPlan is wrapped by errors that explain why new ids cannot continue the stream.
var ErrNoPlan = errors.New("migrate: the stream cannot be continued")

const (
	// fresh is how far the newest id may be from now. Without a recent id, nothing confirms the
	// epoch.
	fresh = 10 * time.Minute
	// odd is how far ahead an id is that came from another generator or was written manually.
	odd = 365 * 24 * time.Hour
	// leastID is above all numbers of an AUTO_INCREMENT of 32 bits.
	leastID = 1 << 32
)

// Make plans how to continue the ids of s at now, if a sample of the ids confirms s. The sample
// must include the largest id, which a process issued in the last ten minutes, and ids of every
// process that will run next to the new ones.
//
// Make fails with ErrNoPlan if new ids cannot continue the stream, or if the sample contradicts
// s: its newest id is not recent, a worker id is not one of s.Workers, all ids have the same
// sequence, or ids have lost digits. The Plan then has only Odd, Last and NotBefore.
func Make(s Source, sample []int64, now time.Time) (Plan, error) {
	if err := cmp.Or(s.Layout.Validate(), s.Layout.CheckTime(s.Layout.TickTime(0))); err != nil {
		return Plan{}, fmt.Errorf("migrate: layout of %s: %w", s.Name, err)
	}
	p := Plan{Source: s, Layout: s.Layout.WithDefaults()}
	p.Source.Workers = slices.Compact(slices.Sorted(slices.Values(s.Workers)))
	if err := p.confirm(sample, now); err != nil {
		return p, err
	}
	if err := p.Layout.CheckTime(now); err != nil {
		return p, fmt.Errorf("%w: %w; ids with a later epoch would sort before old ones and could equal them: state a wider time field if ids have fewer than 63 bits, or put new ids into a new column or table", ErrNoPlan, err)
	}
	p.share()
	return p, nil
}

// confirm returns an error if the sample contradicts the source.
func (p *Plan) confirm(sample []int64, now time.Time) error {
	var (
		n, stranger, sequence = 0, int64(0), int64(0)
		moves, fraction       bool              // the sequence is not always the same; it is not always 0
		exact                 bool              // float64 does not hold all ids
		zeros, tens           = 18, int64(1e18) // at the end of all ids
	)
	for _, id := range sample {
		parts, err := p.Source.Decode(id)
		if id < leastID || err != nil || parts.Time.Sub(now) > odd {
			p.Odd = append(p.Odd, id)
			continue
		}
		n++
		p.Last = max(p.Last, id)
		if next := parts.Time.Add(p.Layout.TimeUnit); next.After(p.NotBefore) {
			p.NotBefore = next
		}
		if stranger == 0 && len(p.Source.Workers) > 0 && !slices.Contains(p.Source.Workers, parts.Worker) {
			stranger = id
		}
		moves = moves || n > 1 && parts.Sequence != sequence
		sequence = parts.Sequence
		fraction = fraction || sequence != 0
		exact = exact || id&(1<<max(0, bits.Len64(uint64(id))-53)-1) != 0 || id < 1<<53
		for ; id%tens != 0; tens /= 10 {
			zeros--
		}
	}
	no := func(format string, args ...any) error {
		return fmt.Errorf("%w as ids of %s: %s", ErrNoPlan, p.Source.Name, fmt.Sprintf(format, args...))
	}
	if n == 0 {
		return no("it has issued none of these")
	}
	newest := p.NotBefore.Add(-p.Layout.TimeUnit)
	switch off := newest.Sub(now).Round(time.Second); {
	case off > fresh:
		return no("the newest would be of %s, %v ahead of now: the epoch or the bits are different", stamp(newest), off)
	case -off > fresh+p.Layout.TimeUnit:
		return no("the newest would be of %s, %v ago: the epoch or the bits are different, or add an id that was issued just now", stamp(newest), -off)
	case n*zeros >= 3:
		return no("all end with %d zeros: they have lost digits, as in a spreadsheet", zeros)
	case !exact && fraction && !p.Source.SequenceFirst:
		return no("all are numbers that float64 holds: they have lost digits")
	case stranger != 0:
		parts, _ := p.Source.Decode(stranger)
		return no("%d has worker id %d, which is not stated: there are others, or the bits are others", stranger, parts.Worker)
	case n >= 10 && !moves && fraction && sequence != p.Source.first:
		return no("all have sequence %d: it may be the worker id, below the sequence", sequence)
	}
	return nil
}

// again describes how to keep new ids above those that old processes issue after the sample, with
// clocks that may be fast.
const again = "stop all old processes, plan again with the ids they made, wait until the new \"not before\","

// share looks for worker ids that no old process uses.
func (p *Plan) share() {
	l, s := &p.Layout, p.Source
	first, last := longestGap(s.Workers, l.Workers())
	why := ""
	switch {
	case s.SequenceFirst:
		// The time keeps its place. The bits below it are divided differently.
		low := l.WorkerBits + l.BusinessBits + l.SequenceBits
		l.WorkerBits = min(10, low-1)
		l.BusinessBits = 0
		l.SequenceBits = low - l.WorkerBits
		why = s.Name + " has the sequence above the worker id"
	case s.Chooses:
		why = s.Name + " chooses worker ids by itself, others after a restart"
	case len(s.Workers) == 0:
		why = "the worker ids in use are not stated"
	case last < first:
		why = fmt.Sprintf("all %d worker ids are in use, which leaves none for new processes", l.Workers())
	default:
		p.Workers, p.SideBySide = span(first, last), true
		p.Note = "old processes must keep to the stated worker ids while new ones run; " + again + " and remove workers from the configuration"
		return
	}
	p.Workers = span(0, l.Workers()-1)
	p.Note = why + ", so old and new ids of one tick can be equal; " + again + " and start the new ones"
}

// longestGap returns the longest run of numbers in 0..n-1 that are not in taken, which is
// sorted. If there is none, last is less than first.
func longestGap(taken []int64, n int64) (first, last int64) {
	last = -1
	from := int64(0)
	for _, t := range append(slices.Clone(taken), n) {
		if t-from > last-first+1 {
			first, last = from, t-1
		}
		from = t + 1
	}
	return first, last
}

func span(first, last int64) string { return fmt.Sprintf("%d-%d", first, last) }

// String formats the plan for people in a few lines.
func (p Plan) String() string {
	together := "yes"
	if !p.SideBySide {
		together = "NO, stop the old processes first"
	}
	return fmt.Sprintf("from %s: largest id %d\nlayout: %v, until %s\nworkers: %s\nnot before: %s\nside by side: %s\n- %s\n",
		p.Source.Name, p.Last, p.Layout, stamp(p.Layout.Ends()), p.Workers, stamp(p.NotBefore), together, p.Note)
}

// YAML returns the idworker.Config of the new processes as the key idworker of a YAML file.
// The namespace should be a new one.
func (p Plan) YAML(namespace string) string {
	l, until, lease := p.Layout, "", ""
	if p.SideBySide {
		until = " # until the old processes have stopped"
	}
	if ttl := 10 * l.TimeUnit; ttl > 30*time.Second { // a lease lasts at least that long
		lease = fmt.Sprintf("  lease: {ttl: %v}\n", ttl)
	}
	return fmt.Sprintf(`idworker:
  namespace: %q
  layout: {epoch: %d, time_unit: %v, time_bits: %d, worker_bits: %d, business_bits: %d, sequence_bits: %d}
  workers: %s%s
%s`, namespace, l.Epoch, l.TimeUnit, l.TimeBits, l.WorkerBits, l.BusinessBits, l.SequenceBits, p.Workers, until, lease)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Follows returns nil if, for valid layouts, every id of next with a time from the given one onward is larger than
// every id of old before that time. Next begins with its first tick that starts at that time or
// later. A live system may then change its layout after the last process with the old layout has
// stopped. Otherwise the error wraps ErrNoPlan and names the latest epoch that would work, if
// there is one.
func Follows(next, old snowflake.Layout, from time.Time) error {
	next, old = next.WithDefaults(), old.WithDefaults()
	// begin returns the least id of a tick that starts at from or later.
	begin := func(l snowflake.Layout) int64 {
		first, _ := l.Ticks(from.UnixMilli()-1, math.MaxInt64)
		return first << Below(l)
	}
	least, greatest := begin(next), begin(old)-1
	if least > greatest {
		return nil
	}
	// The epoch must be more than this many ticks before the first id.
	used := greatest >> Below(next)
	moved := next
	moved.Epoch = from.UnixMilli() - used*next.TimeUnit.Milliseconds() - 1
	remedy := "no epoch puts them after; keep the number of bits below the time, or use a new column"
	if moved.Validate() == nil && moved.Epoch > 0 && moved.CheckTime(from) == nil {
		remedy = fmt.Sprintf("an epoch of %d or earlier puts them after", moved.Epoch)
	}
	return fmt.Errorf("%w: ids of %v start at %d at %s, but those of %v reach %d; %s",
		ErrNoPlan, next, least, stamp(from), old, greatest, remedy)
}

// Below returns the number of bits below the time.
func Below(l snowflake.Layout) int { return l.Bits() - int(l.TimeBits) }
