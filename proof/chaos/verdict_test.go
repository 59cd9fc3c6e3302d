package chaos

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A verdict is the result of the journals of a run.
type verdict struct {
	processes       int
	finished        int // cleanly
	ids, runs       int64
	grants          int
	renewals        int
	givenBack       int
	calls, failures [outcomes]int64 // failed calls to the center; callers without an id
	quarantines     map[int64]bool  // by their end
	streams         map[stream]int64
	fresh           []int64         // when ranges were lent, Unix milliseconds of this host
	waits           []time.Duration // from a loss to the next grant
	paused          time.Duration   // the longest time that a process which had ids was without

	// Violations. The first few are described.
	duplicates int64 // ids issued more than once
	outside    int64 // ids outside the grants of their process
	falling    int64 // runs that did not rise within a process
	shared     int64 // grants that share a millisecond of a worker id
	disordered int64 // runs of a strict stream below a number that was returned before they were requested
	described  []string
}

func (v *verdict) sound() bool { return v.duplicates+v.outside+v.falling+v.shared+v.disordered == 0 }

func (v *verdict) describe(format string, args ...any) {
	if len(v.described) < 20 {
		v.described = append(v.described, fmt.Sprintf(format, args...))
	}
}

// A loan is a grant with its renewals, as one process noted it.
type loan struct {
	entry       // the range after the last renewal
	used  int64 // the latest millisecond in an id; 0: none
	back  bool  // given back: ceiling is the last use
	by    *process
}

func (l *loan) String() string {
	return fmt.Sprintf("worker %d (%d, %d] token %d of %s", l.worker, l.floor, l.ceiling, l.token, l.by.Journal)
}

// of compares the namespaces and worker ids of two loans.
func (l *loan) of(other *loan) int {
	return cmp.Or(cmp.Compare(l.by.Request.Namespace, other.by.Request.Namespace), cmp.Compare(l.worker, other.worker))
}

// A reading is a journal in the course of being read.
type reading struct {
	*verdict
	by    *process
	file  io.ReadCloser
	in    *bufio.Reader
	run   entry // the last run read
	loans []*loan
	end   bool // nothing may follow
}

// judge reads all journals at once, run by run in the order of ids, so memory does not
// grow with the number of ids. Each journal rises by itself.
func judge(processes []*process) (*verdict, error) {
	v := &verdict{processes: len(processes), quarantines: map[int64]bool{}}
	var (
		loans []*loan
		queue []*reading
	)
	defer func() {
		for _, r := range queue {
			_ = r.file.Close()
		}
	}()
	next := func(r *reading) (bool, error) {
		more, err := r.next()
		if err != nil || !more {
			loans = append(loans, r.loans...)
			return false, errors.Join(err, r.file.Close())
		}
		return true, nil
	}
	for _, p := range processes {
		file, err := os.Open(p.Journal)
		if errors.Is(err, os.ErrNotExist) { // killed before it began
			continue
		}
		if err != nil {
			return nil, err
		}
		r := &reading{verdict: v, by: p, file: file, in: bufio.NewReaderSize(file, 1<<14)}
		more, err := next(r)
		if err != nil {
			return nil, err
		}
		if more {
			queue = append(queue, r)
		}
	}
	end, last := int64(0), "" // ids below end have been used
	for len(queue) > 0 {
		r := slices.MinFunc(queue, func(a, b *reading) int { return cmp.Compare(a.run.first, b.run.first) })
		first, after := r.run.first, r.run.first+r.run.count
		if first < end {
			v.duplicates += min(after, end) - first
			v.describe("ids %d to %d of %s were issued by %s", first, min(after, end)-1, r.by.Journal, last)
		}
		if after > end {
			end, last = after, r.by.Journal
		}
		more, err := next(r)
		if err != nil {
			return nil, err
		}
		if !more {
			queue = slices.DeleteFunc(queue, func(other *reading) bool { return other == r })
		}
	}
	v.compare(loans)
	return v, nil
}

// compare finds loans of a worker id that share a millisecond.
func (v *verdict) compare(loans []*loan) {
	v.grants = len(loans)
	slices.SortFunc(loans, func(a, b *loan) int { return cmp.Or(a.of(b), cmp.Compare(a.floor, b.floor)) })
	var before *loan // the loan of the worker id that reaches furthest
	for _, l := range loans {
		if before != nil && before.of(l) != 0 {
			before = nil
		}
		if l.floor >= l.ceiling { // given back unused
			continue
		}
		if before != nil && l.floor < before.ceiling {
			v.shared++
			v.describe("%v and %v overlap", before, l)
		}
		if before == nil || l.ceiling > before.ceiling {
			before = l
		}
	}
}

// next reads up to the next run. It returns false at the end.
func (r *reading) next() (bool, error) {
	for {
		e, err := readEntry(r.in)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF) && !r.end: // a kill cuts off the last write
			r.close()
			return false, nil
		case err != nil:
			return false, fmt.Errorf("%s: %w", r.by.Journal, err)
		case r.end:
			return false, fmt.Errorf("%s: a record of kind %q after the last one", r.by.Journal, e.kind)
		}
		switch e.kind {
		case runOf:
			return true, r.take(e)
		case granted:
			r.lent(e)
		case returned:
			r.giveBack(e)
		case called:
			r.calls[e.outcome]++
			if e.outcome == quarantined {
				r.quarantines[e.ceiling] = true
			}
		case failed:
			r.failures[e.outcome] += e.count
		case paused:
			r.paused = max(r.paused, time.Duration(e.count)*time.Millisecond)
		case done:
			r.finished++
			r.end = true
		}
	}
}

// take checks that a run rises, and lies within one tick and within what the process
// had been lent by then.
func (r *reading) take(e entry) error {
	if e.count < 1 {
		return fmt.Errorf("%s: a run of %d ids", r.by.Journal, e.count)
	}
	if e.first < r.run.first+r.run.count {
		r.falling++
		r.describe("ids of %s fell from %d to %d", r.by.Journal, r.run.first+r.run.count-1, e.first)
	}
	r.run = e
	r.runs++
	r.ids += e.count
	first, err := r.by.Layout.Decode(e.first)
	if err != nil {
		return fmt.Errorf("%s: %w", r.by.Journal, err)
	}
	ms := first.Time.UnixMilli()
	for i := len(r.loans) - 1; i >= 0; i-- {
		l := r.loans[i]
		if l.worker == first.Worker && l.floor < ms && ms <= l.ceiling && first.Sequence+e.count <= r.by.Layout.PerTick() {
			l.used = max(l.used, ms)
			return nil
		}
	}
	r.outside += e.count
	r.describe("ids %d to %d (worker %d, %d ms) of %s lie outside of what it had been lent: %v",
		e.first, e.first+e.count-1, first.Worker, ms, r.by.Journal, r.loans)
	return nil
}

// lent notes a new range or an extended one. A renewal after a loss lends a new range.
func (r *reading) lent(e entry) {
	for _, l := range r.loans {
		if l.worker == e.worker && l.owner == e.owner && l.floor == e.floor {
			r.renewals++
			l.ceiling = max(l.ceiling, e.ceiling)
			return
		}
	}
	r.fresh = append(r.fresh, e.at)
	r.loans = append(r.loans, &loan{entry: e, by: r.by})
}

// giveBack cuts a loan to its last use.
func (r *reading) giveBack(e entry) {
	r.givenBack++
	for _, l := range r.loans {
		if l.worker == e.worker && l.owner == e.owner && l.floor == e.floor {
			l.ceiling, l.back = max(l.floor, min(l.ceiling, e.ceiling)), true
		}
	}
}

// close checks what was issued from loans that were given back.
func (r *reading) close() {
	for _, l := range r.loans {
		if l.back && l.used > l.ceiling {
			r.outside++
			r.describe("an id of %d ms lies above the last use that was told: %v", l.used, l)
		}
	}
}

// TestJudge checks that each fault in journals is found, and nothing else.
func TestJudge(t *testing.T) {
	t.Parallel()
	const ms = int64(1_800_000_000_000)
	id := func(worker, at, sequence int64) int64 {
		return (at-layout.Epoch)<<22 | worker<<17 | sequence
	}
	owner := func(n byte) [2]int64 { return [2]int64{int64(n)} }
	lent := func(n byte, worker, floor, ceiling int64) entry {
		return entry{kind: granted, worker: worker, token: int64(n), floor: ms + floor, ceiling: ms + ceiling, owner: owner(n)}
	}
	back := func(n byte, worker, floor, used int64) entry {
		e := lent(n, worker, floor, used)
		e.kind = returned
		return e
	}
	run := func(worker, at, sequence, count int64) entry {
		return entry{kind: runOf, first: id(worker, ms+at, sequence), count: count}
	}
	type found struct{ ids, duplicates, outside, falling, shared int64 }
	for name, c := range map[string]struct {
		journals [][]entry
		found    found
	}{
		"sound": {[][]entry{
			{lent(1, 3, 0, 10), run(3, 1, 0, 100), run(3, 1, 100, 5), lent(1, 3, 0, 20), run(3, 20, 7, 1)},
			{lent(2, 3, 20, 30), run(3, 21, 0, 100), {kind: done}},
			{lent(3, 4, 0, 10), run(4, 1, 0, 100)},
			{},
		}, found{ids: 306}},
		"given back": {[][]entry{
			{lent(1, 3, 0, 10), run(3, 5, 0, 1), back(1, 3, 0, 6), run(3, 6, 0, 1), {kind: done}},
			{lent(2, 3, 6, 20), run(3, 7, 0, 100)},
			{lent(3, 3, 20, 30), back(3, 3, 20, 20)},
			{lent(4, 3, 20, 30)},
		}, found{ids: 102}},
		"another range after a loss": {[][]entry{
			{
				lent(1, 3, 0, 10), run(3, 9, 0, 1),
				{kind: granted, worker: 3, token: 9, floor: ms + 40, ceiling: ms + 50, owner: owner(1)},
				run(3, 45, 0, 1),
			},
			{lent(2, 3, 10, 40), run(3, 40, 0, 1)},
		}, found{ids: 3}},
		"between the range before a loss and the one after it": {[][]entry{
			{lent(1, 3, 0, 10), {kind: granted, worker: 3, token: 9, floor: ms + 40, ceiling: ms + 50, owner: owner(1)}, run(3, 29, 0, 1)},
		}, found{ids: 1, outside: 1}},
		"ranges after a loss that overlap": {[][]entry{
			{lent(1, 3, 0, 10), {kind: granted, worker: 3, token: 9, floor: ms + 40, ceiling: ms + 50, owner: owner(1)}},
			{lent(2, 3, 30, 41)},
		}, found{shared: 1}},
		"duplicate of one id": {[][]entry{
			{lent(1, 3, 0, 10), run(3, 5, 0, 10)},
			{lent(2, 3, 10, 20), lent(3, 3, 4, 5), run(3, 5, 9, 3)},
		}, found{ids: 13, duplicates: 1, shared: 1}},
		"duplicates within a run": {[][]entry{
			{lent(1, 3, 0, 10), run(3, 5, 0, 100), run(3, 5, 100, 1)},
			{lent(2, 3, 0, 10), run(3, 5, 10, 3), run(3, 5, 50, 10), run(3, 6, 0, 1)},
			{lent(3, 3, 0, 10), run(3, 5, 99, 3)},
		}, found{ids: 118, duplicates: 15, shared: 2}},
		"grants that overlap though no id does": {[][]entry{
			{lent(1, 3, 0, 10), run(3, 5, 0, 1)},
			{lent(2, 3, 9, 20), run(3, 15, 0, 1)},
		}, found{ids: 2, shared: 1}},
		"one grant within another": {[][]entry{
			{lent(1, 3, 0, 100)}, {lent(2, 3, 9, 20)}, {lent(3, 3, 30, 40)},
		}, found{shared: 2}},
		"at the floor":                   {[][]entry{{lent(1, 3, 0, 10), run(3, 0, 0, 2)}}, found{ids: 2, outside: 2}},
		"above the ceiling":              {[][]entry{{lent(1, 3, 0, 10), run(3, 11, 0, 2)}}, found{ids: 2, outside: 2}},
		"of another worker":              {[][]entry{{lent(1, 3, 0, 10), run(4, 5, 0, 2)}}, found{ids: 2, outside: 2}},
		"beyond the sequence":            {[][]entry{{lent(1, 3, 0, 10), run(3, 5, 1<<17-1, 2)}}, found{ids: 2, outside: 2}},
		"before the grant was told":      {[][]entry{{run(3, 5, 0, 1), lent(1, 3, 0, 10)}}, found{ids: 1, outside: 1}},
		"before the renewal was told":    {[][]entry{{lent(1, 3, 0, 10), run(3, 11, 0, 1), lent(1, 3, 0, 20)}}, found{ids: 1, outside: 1}},
		"above the last use":             {[][]entry{{lent(1, 3, 0, 10), run(3, 5, 0, 1), back(1, 3, 0, 4)}}, found{ids: 1, outside: 1}},
		"falling":                        {[][]entry{{lent(1, 3, 0, 10), run(3, 5, 0, 1), run(3, 4, 0, 1)}}, found{ids: 2, falling: 1, duplicates: 1}},
		"twice by the same process":      {[][]entry{{lent(1, 3, 0, 10), run(3, 5, 0, 2), run(3, 5, 1, 1)}}, found{ids: 3, falling: 1, duplicates: 1}},
		"the same worker of other times": {[][]entry{{lent(1, 3, 0, 10), lent(1, 3, 30, 40), run(3, 31, 0, 1)}}, found{ids: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []*process
			dir := t.TempDir()
			for i, entries := range c.journals {
				all = append(all, &process{order: order{Journal: fmt.Sprintf("%s/%d", dir, i)}})
				j, err := openJournal(all[i].Journal)
				require.NoError(t, err)
				for _, e := range entries {
					j.put(e)
				}
				require.NoError(t, errors.Join(j.err, j.file.Close()))
			}
			v, err := judge(append(all, &process{order: order{Journal: dir + "/none"}}))
			require.NoError(t, err)
			require.Equal(t, c.found, found{v.ids, v.duplicates, v.outside, v.falling, v.shared}, "%v", v.described)
			require.Equal(t, c.found == found{ids: c.found.ids}, v.sound())
		})
	}
}

// TestJournal checks that a record cut off by a kill is ignored and that a damaged one
// is an error.
func TestJournal(t *testing.T) {
	t.Parallel()
	all := []entry{
		{kind: granted, worker: 3, token: 4, floor: -1, ceiling: 1 << 62, owner: [2]int64{-1 << 63, 7}, at: 5},
		{kind: runOf, first: 1<<63 - 1, count: 1<<32 - 1, asked: 1, there: 1 << 50},
		{kind: returned, worker: 3, token: 4, floor: 1, ceiling: 2, owner: [2]int64{1, 1<<63 - 1}},
		{kind: called, outcome: quarantined, ceiling: 1 << 62},
		{kind: failed, outcome: expired, count: 1 << 20},
		{kind: paused, count: 1 << 40},
		{kind: done},
	}
	var raw []byte
	for _, e := range all {
		raw = e.append(raw)
	}
	for cut := range len(raw) + 1 {
		in, n := bufio.NewReader(bytes.NewReader(raw[:cut])), 0
		for {
			e, err := readEntry(in)
			if err != nil {
				require.True(t, errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF), "%v", err)
				break
			}
			require.Equal(t, all[n], e)
			n++
		}
		require.Equal(t, cut == len(raw), n == len(all))
	}
	_, err := readEntry(bufio.NewReader(strings.NewReader("?")))
	require.ErrorContains(t, err, `kind '?'`)
}
