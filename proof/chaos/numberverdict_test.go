package chaos

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/numbers"
)

// A numberRun is consecutive numbers that one process got.
type numberRun struct {
	entry
	by *process
}

func (r numberRun) last() int64 { return r.first + r.count - 1 }

// judgeNumbers checks the streams of each issuer by themselves.
func judgeNumbers(processes []*process) (*verdict, error) {
	v := &verdict{processes: len(processes), streams: map[stream]int64{}}
	issued := map[stream][]numberRun{}
	for _, p := range processes {
		all, err := p.entries()
		if err != nil {
			return nil, err
		}
		var runs []numberRun // in the order in which they were issued
		for _, e := range all {
			if e.kind == failed {
				v.failures[e.outcome] += e.count
			} else {
				runs = append(runs, numberRun{e, p})
			}
		}
		issued[p.Stream.issuer()] = append(issued[p.Stream.issuer()], runs...)
		v.rise(p.Stream, runs)
	}
	for s, all := range issued {
		v.count(s, all)
		v.inOrder(s, all)
	}
	return v, nil
}

// rise finds runs of one process that do not rise.
func (v *verdict) rise(s stream, runs []numberRun) {
	before := map[int64]numberRun{} // by span
	for _, r := range runs {
		if b := before[s.span(r.first)]; r.first <= b.last() {
			v.falling++
			v.describe("%s: %s issued %d after %d", s, r.by.Journal, r.first, b.last())
		}
		before[s.span(r.first)] = r
	}
}

// count finds numbers that are in two runs.
func (v *verdict) count(s stream, all []numberRun) {
	slices.SortFunc(all, func(a, b numberRun) int { return cmp.Compare(a.first, b.first) })
	end := numberRun{}
	for _, r := range all {
		v.ids += r.count
		v.runs++
		v.streams[r.by.Stream] += r.count
		if r.first <= end.last() {
			v.duplicates += min(end.last(), r.last()) - r.first + 1
			v.describe("%s: %d to %d of %s were issued by %s", s, r.first, min(end.last(), r.last()), r.by.Journal, end.by.Journal)
		}
		if r.last() > end.last() {
			end = r
		}
	}
}

// inOrder finds runs of ordered streams below a number that had been returned, to any
// process, before the run was requested. All processes use the clock of one machine.
func (v *verdict) inOrder(s stream, all []numberRun) {
	asked, there := slices.Clone(all), slices.Clone(all)
	slices.SortFunc(asked, func(a, b numberRun) int { return cmp.Compare(a.asked, b.asked) })
	slices.SortFunc(there, func(a, b numberRun) int { return cmp.Compare(a.there, b.there) })
	tops, next := map[int64]numberRun{}, 0 // by span
	for _, r := range asked {
		for ; next < len(there) && there[next].there < r.asked; next++ {
			if span := s.span(there[next].first); there[next].last() > tops[span].last() {
				tops[span] = there[next]
			}
		}
		if top := tops[s.span(r.first)]; r.by.Stream.ordered() && r.first <= top.last() {
			v.disordered++
			v.describe("%s: %s issued %d, which it asked for %v after %s had %d", s, r.by.Journal, r.first,
				time.Duration(r.asked-top.there), top.by.Journal, top.last())
		}
	}
}

// TestJudgeNumbers checks that each fault is found, and nothing else.
func TestJudgeNumbers(t *testing.T) {
	t.Parallel()
	type found struct{ ids, duplicates, falling, disordered int64 }
	second := reserved * layout.PerTick()
	for name, c := range map[string]struct {
		stream   stream // of all processes; empty: one prefetches, the others are strict
		journals [][]entry
		found    found
	}{
		"sound": {strictSegments, [][]entry{
			{{asked: 1, there: 2, first: 1, count: 3}, {asked: 5, there: 6, first: 7, count: 2}},
			{{asked: 2, there: 4, first: 4, count: 3}}, // at the same time as others
		}, found{ids: 8}},
		"together": {strictSegments, [][]entry{
			{{asked: 1, there: 9, first: 1, count: 1}}, {{asked: 2, there: 3, first: 2, count: 1}},
		}, found{ids: 2}},
		"twice": {segments, [][]entry{
			{{first: 1, count: 10}}, {{first: 10, count: 5}, {first: 20, count: 1}},
		}, found{ids: 16, duplicates: 1}},
		"within another": {segments, [][]entry{{{first: 1, count: 10}}, {{first: 3, count: 2}}}, found{ids: 12, duplicates: 2}},
		"falling":        {segments, [][]entry{{{first: 5, count: 1}, {first: 4, count: 1}}}, found{ids: 2, falling: 1}},
		"out of order": {dispenser, [][]entry{
			{{asked: 1, there: 2, first: 5, count: 1}}, {{asked: 3, there: 4, first: 4, count: 1}},
		}, found{ids: 2, disordered: 1}},
		"no order is promised": {segments, [][]entry{
			{{asked: 1, there: 2, first: 5, count: 1}}, {{asked: 3, there: 4, first: 4, count: 1}},
		}, found{ids: 2}},
		"strict beside prefetched": {"", [][]entry{
			{{asked: 1, there: 2, first: 1, count: 5}, {asked: 7, there: 8, first: 6, count: 1}}, // is prefetched
			{{asked: 3, there: 4, first: 7, count: 1}, {asked: 5, there: 6, first: 8, count: 1}},
		}, found{ids: 8}},
		"strict below prefetched": {"", [][]entry{
			{{asked: 1, there: 2, first: 5, count: 1}}, {{asked: 3, there: 4, first: 4, count: 1}},
		}, found{ids: 2, disordered: 1}},
		"strict and prefetched": {"", [][]entry{
			{{asked: 1, there: 9, first: 5, count: 1}}, {{asked: 3, there: 4, first: 5, count: 1}},
		}, found{ids: 2, duplicates: 1}},
		"of backdated ids": {past, [][]entry{
			{{asked: 1, there: 2, first: second + 5, count: 2}, {asked: 5, there: 6, first: 7, count: 1}}, // of an earlier second
			{{asked: 3, there: 4, first: 8, count: 1}},
		}, found{ids: 4, disordered: 1}},
		"of backdated ids, falling": {past, [][]entry{
			{{first: second + 5, count: 1}, {first: 7, count: 1}, {first: second + 4, count: 1}},
		}, found{ids: 3, falling: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []*process
			for i, runs := range c.journals {
				p := &process{order: order{Journal: fmt.Sprintf("%s/%d", t.TempDir(), i), Stream: cmp.Or(c.stream, []stream{sequence, strictSequence}[min(i, 1)])}}
				j, err := openJournal(p.Journal)
				require.NoError(t, err)
				w := numberWriter{journal: j}
				for _, r := range runs {
					numbers := make([]int64, r.count)
					for k := range numbers {
						numbers[k] = r.first + int64(k)
					}
					w.note(r.asked, r.there, numbers)
				}
				w.note(0, 0, nil)
				w.write(entry{kind: runOf}.append(nil)[:5]) // cut off
				require.NoError(t, errors.Join(w.err, w.file.Close()))
				all = append(all, p)
			}
			v, err := judgeNumbers(append(all, &process{order: order{Journal: t.TempDir() + "/none", Stream: c.stream}}))
			require.NoError(t, err)
			require.Equal(t, c.found, found{v.ids, v.duplicates, v.falling, v.disordered}, "%v", v.described)
			require.EqualValues(t, len(c.journals), v.failures[otherwise])
			require.Equal(t, c.found == found{ids: c.found.ids}, v.sound())
		})
	}
}

// readThenWrite reserves as many programs do: it reads with one statement and writes
// with another.
type readThenWrite struct {
	numbers.Store
	exec func(context.Context, string, ...any) (sql.Result, error)
	row  func(context.Context, string, ...any) *sql.Row
}

func (s readThenWrite) Reserve(ctx context.Context, r numberstore.Request) (numberstore.Range, error) {
	var last int64
	if err := s.row(ctx, "SELECT max_id FROM snowlease_segment WHERE name = $1", r.Name).Scan(&last); err != nil {
		return s.Store.Reserve(ctx, r) // creates the table and the name
	}
	last = max(last, r.Above)
	if _, err := s.exec(ctx, "UPDATE snowlease_segment SET max_id = $1 WHERE name = $2", last+r.N, r.Name); err != nil {
		return numberstore.Range{}, err
	}
	return numberstore.Range{First: last + 1, Last: last + r.N}, nil
}
