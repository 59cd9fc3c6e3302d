package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/snowlease/snowlease/migrate"
	"github.com/snowlease/snowlease/snowflake"
)

const (
	// chunkLen is how many ids are compared with one another.
	chunkLen = 1 << 22
	// early is how long after its epoch a generator makes no ids.
	early = 30 * 24 * time.Hour
	// maxAhead is how far ids may be ahead of the clock.
	maxAhead = time.Hour
)

// An inspector takes ids in its method add, and keeps what is printed about them.
type inspector struct {
	now      time.Time
	ordered  bool
	chosen   bool // by --source
	guesses  []*guess
	ids      int64
	numbers  int64 // of the ids, those that are too small for any guess
	least    int64
	greatest int64

	chunk    []int64 // since the last compare
	chunks   int
	repeated int64
	repeats  []snowflake.ID // the first ones
}

// A guess is a source that may have made the ids.
type guess struct {
	migrate.Source
	from, to           int64   // where its ids lie
	ids, first, last   int64   // how many fit, the least and the greatest
	sequences          float64 // their sum
	workers            []tally
	late, firstLate    int64 // below an earlier id of their worker
	strays, firstStray int64 // that do not fit
}

// A tally is about the ids of a worker.
type tally struct{ ids, greatest int64 }

// everySource returns the sources of package migrate and the presets.
func everySource() (list []migrate.Source) {
	all := migrate.Sources()
	for _, name := range presets {
		l, err := snowflake.Preset(name)
		must(err)
		all = append(all, migrate.Source{Name: name, Layout: l})
	}
	return all
}

func sourceNames() (names []string) {
	for _, s := range everySource() {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// guessesOf returns the sources to try. The parts of a layout that flags set replace theirs. The
// same layout under several names is one guess.
func guessesOf(source string, f *layoutFlags, now time.Time) (list []*guess, err error) {
	for _, s := range everySource() {
		if source != "" && source != s.Name {
			continue
		}
		if s.Layout, err = f.over(s.Layout); err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(list, func(g *guess) bool { return g.Layout == s.Layout && g.SequenceFirst == s.SequenceFirst }); i >= 0 {
			if !slices.Contains(strings.Split(list[i].Name, ", "), s.Name) {
				list[i].Name += ", " + s.Name
			}
			continue
		}
		g := &guess{Source: s, from: 1, to: math.MaxInt64, workers: make([]tally, s.Layout.Workers())}
		epoch := s.Layout.TickTime(0)
		if id, err := s.Layout.Encode(snowflake.Parts{Time: epoch.Add(early)}); err == nil && f.epoch == "" {
			g.from = id
		}
		if id, err := s.Layout.Encode(snowflake.Parts{Time: now.Add(maxAhead)}); err == nil {
			g.to = id
		} else if now.Before(epoch) {
			g.to = 0
		}
		list = append(list, g)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("--source is unknown: choose %s", strings.Join(sourceNames(), ", "))
	}
	return list, nil
}

var errNoID = errors.New("an id is greater than 0")

// add takes one id.
func (in *inspector) add(id int64) error {
	if id < 1 {
		return fmt.Errorf("%d: %w", id, errNoID)
	}
	if len(in.chunk) == chunkLen {
		in.compare()
	}
	in.chunk = append(in.chunk, id)
	if in.ids++; in.ids == 1 {
		in.least = id
	}
	in.least, in.greatest = min(in.least, id), max(in.greatest, id)
	if id < in.smallest() {
		in.numbers++
		return nil
	}
	for _, g := range in.guesses {
		g.add(id)
	}
	return nil
}

// smallest returns the least id that any guess can have made.
func (in *inspector) smallest() int64 {
	least := in.guesses[0].from
	for _, g := range in.guesses {
		least = min(least, g.from)
	}
	return least
}

// compare counts the ids that occur more than once since the last call.
func (in *inspector) compare() {
	slices.Sort(in.chunk)
	for i, id := range in.chunk {
		if i > 0 && id == in.chunk[i-1] {
			in.repeated++
			if n := len(in.repeats); n < maxShown && (n == 0 || in.repeats[n-1] != snowflake.ID(id)) {
				in.repeats = append(in.repeats, snowflake.ID(id))
			}
		}
	}
	in.chunk = in.chunk[:0]
	in.chunks++
}

func (g *guess) add(id int64) {
	var p snowflake.Parts
	fits := g.from <= id && id <= g.to
	if fits {
		var err error
		p, err = g.Decode(id)
		fits = err == nil
	}
	if !fits {
		if g.strays++; g.strays == 1 {
			g.firstStray = id
		}
		return
	}
	if g.ids++; g.ids == 1 {
		g.first = id
	}
	g.first, g.last = min(g.first, id), max(g.last, id)
	g.sequences += float64(p.Sequence)
	w := &g.workers[p.Worker]
	w.ids++
	if id < w.greatest {
		if g.late++; g.late == 1 {
			g.firstLate = id
		}
	}
	w.greatest = max(w.greatest, id)
}

// fits returns the guesses that fit all ids but numbers, the best one first, and sorts the
// others by the number of ids that do not fit.
func (in *inspector) fits() (list []*guess) {
	slices.SortStableFunc(in.guesses, func(a, b *guess) int { return cmp.Compare(a.strays, b.strays) })
	for _, g := range in.guesses {
		if g.strays == 0 && g.ids > 0 {
			list = append(list, g)
		}
	}
	age := func(g *guess) time.Duration { return in.now.Sub(g.time(g.last)).Abs() }
	slices.SortStableFunc(list, func(a, b *guess) int {
		// Most ids of a generator have low sequences.
		return cmp.Or(cmp.Compare(age(a), age(b)), cmp.Compare(a.sequences, b.sequences))
	})
	return list
}

// doubt returns an error if nobody chose g and its newest id seems old: a layout with another epoch
// may have made it just now, and a plan for the wrong layout can repeat ids.
func (in *inspector) doubt(g *guess) error {
	newest := g.time(g.last)
	if in.chosen || in.now.Sub(newest) < 24*time.Hour {
		return nil
	}
	name, _, _ := strings.Cut(g.Name, ",")
	return fmt.Errorf("no plan: was %d made at %s? If so, give --source %s; if not, give the --source, --epoch and --bits of its generator", g.last, newest.UTC().Format(stamp), name)
}

// noFit returns the error if no guess fits.
func (in *inspector) noFit() error {
	if in.numbers < in.ids {
		return errors.New("no layout fits: if the generator has an epoch, unit or bits of its own, give --epoch, --unit and --bits")
	}
	after := ""
	if first, err := (snowflake.Layout{}).Encode(snowflake.Parts{Time: in.now}); err == nil && first > in.greatest {
		after = "; new ids of the default layout sort after them"
	}
	return errors.New("no layout fits: these are numbers, as AUTO_INCREMENT makes them" + after)
}

func (g *guess) time(id int64) time.Time {
	p, _ := g.Decode(id)
	return p.Time
}

// greatest returns the greatest id of each worker.
func (g *guess) greatest() (list []int64) {
	for _, w := range g.workers {
		if w.ids > 0 {
			list = append(list, w.greatest)
		}
	}
	return list
}

func (g *guess) fit(ordered bool) fit {
	f := fit{Source: g.Name, Layout: g.Layout.String(), Oldest: g.time(g.first).UTC().Format(stamp), Newest: g.time(g.last).UTC().Format(stamp)}
	for id, w := range g.workers {
		if w.ids > 0 {
			f.Workers = append(f.Workers, worker{int64(id), w.ids})
		}
	}
	f.WorkerCount = len(f.Workers)
	slices.SortStableFunc(f.Workers, func(a, b worker) int { return cmp.Compare(b.IDs, a.IDs) })
	f.Workers = slices.Clone(f.Workers[:min(maxShown, len(f.Workers))])
	if ordered {
		f.Late = &g.late
	}
	return f
}
