package migrate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/snowlease/snowlease/snowflake"
)

// A Plan says how to continue a stream of ids. Make returns it.
type Plan struct {
	Source Source
	// Layout and Workers are the configuration of the new processes.
	Layout  snowflake.Layout
	Workers string
	// Last is the largest id of the sample.
	Last int64
	// Seen lists the worker ids of the sample in ascending order.
	Seen []int64
	// NotBefore is the start of the tick after the latest id of the sample. No new
	// process may start earlier with a worker id that old ones had. It is in the future
	// if the old generator runs ahead of its clock. Old processes that go on move it, so
	// when the last one has stopped, make a plan from the largest id again.
	NotBefore time.Time
	// SideBySide reports that old and new processes may run together if the old ones
	// keep to the worker ids Seen. Otherwise stop the last old process before you start
	// the first new one.
	SideBySide bool
	// Notes have reasons and precautions.
	Notes []string
}

// ErrNoPlan is wrapped by errors that say why new ids cannot continue the stream.
var ErrNoPlan = errors.New("migrate: the stream cannot be continued")

// Make examines a sample of old ids and plans how to continue the stream at now. The
// sample must include the largest id, and ids of every process that will run beside the
// new ones.
//
// It fails if the sample is empty or has an id that the source cannot have made, and
// with ErrNoPlan if new ids cannot continue the stream.
func Make(s Source, sample []int64, now time.Time) (Plan, error) {
	if len(sample) == 0 {
		return Plan{}, errors.New("migrate: the sample is empty; give at least the largest id, SELECT MAX(id)")
	}
	if err := s.Layout.Validate(); err != nil {
		return Plan{}, fmt.Errorf("migrate: layout of %s: %w", s.Name, err)
	}
	p := Plan{Source: s, Layout: s.Layout.WithDefaults()}
	for _, id := range sample {
		parts, err := s.Decode(id)
		if err != nil {
			return Plan{}, err
		}
		p.Last = max(p.Last, id)
		p.Seen = append(p.Seen, parts.Worker)
		if next := parts.Time.Add(p.Layout.TimeUnit); next.After(p.NotBefore) {
			p.NotBefore = next
		}
	}
	slices.Sort(p.Seen)
	p.Seen = slices.Compact(p.Seen)
	if err := p.fit(now); err != nil {
		return Plan{}, err
	}
	p.share()
	if late := p.NotBefore.Sub(now); late > 0 {
		p.note("old ids are ahead of now by %v; start no new process before %s", late.Round(time.Millisecond), stamp(p.NotBefore))
	}
	return p, nil
}

func (p *Plan) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// fit widens the time field, up to 63 bits in all, if it ends too soon.
func (p *Plan) fit(now time.Time) error {
	if err := p.Layout.CheckTime(now); err == nil {
		return nil
	}
	wider := p.Layout
	wider.TimeBits += uint8(63 - wider.Bits())
	if err := wider.CheckTime(now); err != nil {
		return fmt.Errorf("%w: %w; ids with a later epoch would sort before old ones and could equal them; put new ids into a new column or table",
			ErrNoPlan, p.Layout.CheckTime(now))
	}
	p.note("the time field of %d bits ends at %s; it is widened at the top to %d bits, which keeps the order",
		p.Layout.TimeBits, stamp(p.Layout.Ends()), wider.TimeBits)
	p.Layout = wider
	return nil
}

// again keeps new ids above those that old processes issue after the sample, with clocks
// that may be fast.
const again = "stop all old processes, plan again with the ids they made, wait until the new \"not before\","

// share looks for worker ids that the old processes do not use.
func (p *Plan) share() {
	l := &p.Layout
	if p.Source.SequenceFirst {
		// The time keeps its place. The bits below it are divided differently.
		low := l.WorkerBits + l.BusinessBits + l.SequenceBits
		l.WorkerBits = min(10, low-1)
		l.BusinessBits = 0
		l.SequenceBits = low - l.WorkerBits
		p.Workers = span(0, l.Workers()-1)
		p.note("%s has the sequence above the worker id, so old and new ids of one tick can be equal; "+again+" and start the new ones", p.Source.Name)
		return
	}
	first, last := longestGap(p.Seen, l.Workers())
	if last < first {
		p.Workers = span(0, l.Workers()-1)
		p.note("the sample has all %d worker ids, which leaves none for new processes; "+again+" and start the new ones", l.Workers())
		return
	}
	p.Workers, p.SideBySide = span(first, last), true
	p.note("old processes must keep to the worker ids %s while new ones run; "+again+" and remove workers from the configuration", list(p.Seen))
	if n := (last - first + 1) / 2; n < int64(len(p.Seen)) {
		p.note("%d worker ids suffice for %d replicas only", last-first+1, max(1, n))
	}
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

// list formats sorted numbers as ranges.
func list(numbers []int64) string {
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, fmt.Sprint(numbers[i]))
		} else {
			parts = append(parts, span(numbers[i], numbers[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// String formats the plan for people in a few lines.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "from %s: largest id %d, worker ids %s\n", p.Source.Name, p.Last, list(p.Seen))
	fmt.Fprintf(&b, "layout: %v, until %s\n", p.Layout, stamp(p.Layout.Ends()))
	fmt.Fprintf(&b, "workers: %s\n", p.Workers)
	fmt.Fprintf(&b, "not before: %s\n", stamp(p.NotBefore))
	if p.SideBySide {
		b.WriteString("side by side: yes\n")
	} else {
		b.WriteString("side by side: NO, stop the old processes first\n")
	}
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "- %s\n", n)
	}
	return b.String()
}

// YAML returns the idworker.Config of the new processes as the key idworker of a YAML file.
// The namespace should be a new one.
func (p Plan) YAML(namespace string) string {
	l := p.Layout.WithDefaults()
	var b strings.Builder
	fmt.Fprintf(&b, "idworker:\n  namespace: %q\n", namespace)
	fmt.Fprintf(&b, "  layout: {epoch: %d, time_unit: %v, time_bits: %d, worker_bits: %d, business_bits: %d, sequence_bits: %d}\n",
		l.Epoch, l.TimeUnit, l.TimeBits, l.WorkerBits, l.BusinessBits, l.SequenceBits)
	fmt.Fprintf(&b, "  workers: %s", p.Workers)
	if p.SideBySide {
		b.WriteString(" # until the old processes have stopped")
	}
	b.WriteString("\n")
	if ttl := 10 * l.TimeUnit; ttl > 30*time.Second { // a lease is at least that long
		fmt.Fprintf(&b, "  lease: {ttl: %v}\n", ttl)
	}
	return b.String()
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Follows returns nil if every id of next from the time from on is larger than every id
// of old before that time. Next begins with its first tick that starts at from or later. A live system may then change its layout after the last
// process with the old one has stopped. Otherwise the error wraps ErrNoPlan and names the
// latest epoch that would work, if there is one.
func Follows(next, old snowflake.Layout, from time.Time) error {
	if err := errors.Join(next.Validate(), old.Validate()); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	next, old = next.WithDefaults(), old.WithDefaults()
	greatest := (tick(old, from.Add(-time.Millisecond))+1)<<below(old) - 1
	first, _ := next.Ticks(from.UnixMilli()-1, math.MaxInt64)
	least := first << below(next)
	if least > greatest {
		return nil
	}
	// The epoch must be more than this many ticks before the first id.
	used := greatest >> below(next)
	moved := next
	moved.Epoch = from.UnixMilli() - used*next.TimeUnit.Milliseconds() - 1
	remedy := "no epoch puts them after; keep the number of bits below the time, or use a new column"
	if moved.Validate() == nil && moved.Epoch > 0 && moved.CheckTime(from) == nil {
		remedy = fmt.Sprintf("an epoch of %d or earlier puts them after", moved.Epoch)
	}
	return fmt.Errorf("%w: ids of %v start at %d at %s, but those of %v reach %d; %s",
		ErrNoPlan, next, least, stamp(from), old, greatest, remedy)
}

func below(l snowflake.Layout) int { return l.Bits() - int(l.TimeBits) }

// tick returns the tick that t is in, or -1 before the epoch.
func tick(l snowflake.Layout, t time.Time) int64 {
	ms := t.UnixMilli() - l.Epoch
	if ms < 0 {
		return -1
	}
	return ms / l.TimeUnit.Milliseconds()
}
