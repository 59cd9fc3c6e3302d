package migrate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowlease/snowlease/snowflake"
)

// A Plan is how to go on with a stream of ids. Make makes it; String is for people.
type Plan struct {
	Source Source
	// Layout and Workers are the configuration of the new processes.
	Layout  snowflake.Layout
	Workers string
	// Last is the greatest id of the sample.
	Last int64
	// Seen are the worker ids of the sample, in order.
	Seen []int64
	// NotBefore is when the first tick starts that no id of the sample lies in: no
	// new process may start earlier. Old generators that run ahead of their clock
	// have it in the future.
	NotBefore time.Time
	// SideBySide tells that old and new processes may run together, the old ones
	// under the worker ids Seen. Otherwise the last old process must have stopped
	// before the first new one starts.
	SideBySide bool
	// Notes say why, and what to mind.
	Notes []string
}

// ErrNoPlan is wrapped by errors that say why the stream cannot be continued.
var ErrNoPlan = errors.New("migrate: the stream cannot be continued")

// Make looks at a sample of old ids, which must hold the greatest one and ids of
// every process that is to run on beside the new ones, and says how to go on at now.
//
// Errors: an empty sample, an id that the source cannot have made; ErrNoPlan.
func Make(s Source, sample []int64, now time.Time) (Plan, error) {
	if len(sample) == 0 {
		return Plan{}, errors.New("migrate: the sample is empty: give the greatest id at least, SELECT MAX(id)")
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
		p.note("old ids lie ahead of now by %v: start no new process before %s", late.Round(time.Millisecond), stamp(p.NotBefore))
	}
	return p, nil
}

func (p *Plan) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// fit gives the time field a year to live at least: ids may grow to 63 bits, upwards.
func (p *Plan) fit(now time.Time) error {
	if err := p.Layout.CheckTime(now); err == nil {
		return nil
	}
	wider := p.Layout
	wider.TimeBits += uint8(63 - wider.Bits())
	if err := wider.CheckTime(now); err != nil {
		return fmt.Errorf("%w: %w; a later epoch makes ids that sort before the old ones and can equal them: give new rows a new column or table",
			ErrNoPlan, p.Layout.CheckTime(now))
	}
	p.note("the time field of %d bits ends at %s: it is widened to %d bits, above it, so ids keep their order",
		p.Layout.TimeBits, stamp(p.Layout.Ends()), wider.TimeBits)
	p.Layout = wider
	return nil
}

// share looks for worker ids that the old processes do not have.
func (p *Plan) share() {
	l := &p.Layout
	if p.Source.SequenceFirst {
		// Time keeps its place; below it the bits are dealt anew.
		low := l.WorkerBits + l.BusinessBits + l.SequenceBits
		l.WorkerBits = min(10, low-1)
		l.BusinessBits = 0
		l.SequenceBits = low - l.WorkerBits
		p.Workers = span(0, l.Workers()-1)
		p.note("%s has the sequence above the worker id, so old and new ids of one tick can be equal: stop all old processes first", p.Source.Name)
		return
	}
	first, last := longestGap(p.Seen, l.Workers())
	if last < first {
		p.Workers = span(0, l.Workers()-1)
		p.note("the sample has all %d worker ids: none is left for new processes beside old ones: stop all old processes first", l.Workers())
		return
	}
	p.Workers, p.SideBySide = span(first, last), true
	p.note("old processes must keep to the worker ids %s while new ones run; when the last has stopped, leave workers out of the configuration", list(p.Seen))
	if n := (last - first + 1) / 2; n < int64(len(p.Seen)) {
		p.note("%d worker ids are good for %d replicas only", last-first+1, max(1, n))
	}
}

// longestGap returns the longest run of 0..n-1 without one of taken, which is sorted;
// last is less than first where there is none.
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

// list writes numbers as ranges.
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

// String is the plan in a few lines.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "from %s, whose greatest id is %d of worker ids %s\n", p.Source.Name, p.Last, list(p.Seen))
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

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Follows returns nil if every id that next makes for a time from `from` on is greater
// than every id that old made for an earlier time: what a change of the layout on a
// live system needs once the last process of the old layout has stopped. The error
// says by how much it is not so, and the latest epoch that would do, if there is one.
func Follows(next, old snowflake.Layout, from time.Time) error {
	if err := errors.Join(next.Validate(), old.Validate()); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	next, old = next.WithDefaults(), old.WithDefaults()
	greatest := (tick(old, from.Add(-time.Millisecond))+1)<<below(old) - 1
	least := tick(next, from) << below(next)
	if least > greatest {
		return nil
	}
	// So many ticks lie in the past at least.
	need := greatest>>below(next) + 1
	moved := next
	moved.Epoch = from.UnixMilli() - need*next.TimeUnit.Milliseconds()
	remedy := "no epoch puts them after: keep the bits below the time, or begin a new column"
	if moved.Validate() == nil && moved.Epoch > 0 && moved.CheckTime(from) == nil {
		remedy = fmt.Sprintf("an epoch of %d or earlier puts them after", moved.Epoch)
	}
	return fmt.Errorf("%w: ids of %v begin at %d at %s, but those of %v reach to %d: %s",
		ErrNoPlan, next, max(0, least), stamp(from), old, greatest, remedy)
}

func below(l snowflake.Layout) int { return l.Bits() - int(l.TimeBits) }

// tick returns the tick of t; -1 before the epoch.
func tick(l snowflake.Layout, t time.Time) int64 {
	ms := t.UnixMilli() - l.Epoch
	if ms < 0 {
		return -1
	}
	return ms / l.TimeUnit.Milliseconds()
}
