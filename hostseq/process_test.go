//go:build prove

package hostseq

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProcessesGetSlotsOfTheirOwn(t *testing.T) {
	t.Parallel()
	r := role{Config: Config{Dir: t.TempDir()}, Layout: narrow}
	const many = 10
	processes, answers := make([]*process, many), make([]answer, many)
	for i := range processes {
		processes[i] = start(t, r)
	}
	var wg sync.WaitGroup
	for i, p := range processes {
		wg.Go(func() { answers[i] = p.do("acquire", 0) })
	}
	wg.Wait()
	holders := map[int64]*process{}
	for i, a := range answers {
		if a.Err != "" {
			require.True(t, a.Full, a.Err)
			continue
		}
		require.NotContains(t, holders, a.Grant.Worker)
		holders[a.Grant.Worker] = processes[i]
	}
	require.Len(t, holders, 4)

	late := start(t, r)
	require.True(t, late.do("acquire", 0).Full)

	// A process that is killed loses its slot, and what it used is skipped.
	last := holders[1].must("renew", 0)
	used := holders[1].must("ids", 1000).IDs[999]
	holders[1].kill()
	a := late.must("acquire", 0)
	require.Equal(t, int64(1), a.Grant.Worker)
	require.GreaterOrEqual(t, a.Grant.Floor, last.Grant.Ceiling)
	require.Greater(t, late.must("ids", 1).IDs[0], used)
	require.Equal(t, int64(2), holders[2].must("renew", 0).Grant.Worker)

	// A slot that was given back is available at once.
	holders[3].must("release", 0)
	require.Equal(t, int64(3), start(t, r).must("acquire", 0).Grant.Worker)
}

func TestRestartWithTheClockBehind(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*process){
		"killed":     (*process).kill,
		"given back": func(p *process) { p.must("release", 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := role{Config: Config{Dir: t.TempDir(), Worker: worker(7)}}
			p := start(t, r)
			p.must("acquire", 0)
			used := p.must("ids", 200_000) // more than a millisecond has
			rival := start(t, r)
			held := rival.do("acquire", 0)
			require.True(t, held.Held, held.Err)
			require.Contains(t, held.Err, "pid ", "it says by whom")
			end(p)

			r.Offset = -4 * time.Minute
			behind := start(t, r)
			a := behind.must("acquire", 0)
			require.Greater(t, behind.must("ids", 1).IDs[0], used.IDs[199_999])
			behind.must("renew", 0)
			require.Greater(t, behind.must("ids", 1).Grant.Ceiling, a.Grant.Floor)
			behind.must("release", 0)

			r.Offset = -time.Hour
			far := start(t, r).do("acquire", 0)
			require.True(t, far.Behind, far.Err)
			require.Regexp(t, `\d+m.* after the host.s clock .*: correct the clock .*delete .*orders\.7\.slot`, far.Err)
		})
	}
}

// Processes start, issue ids and end, most of them killed, with clocks that differ by
// less than MaxBehind.
func TestNoIDTwiceOnAHost(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dir := t.TempDir()
	seen := new(ledger)
	var wg sync.WaitGroup
	for lane := range uint64(3) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, lane))
			for range 12 {
				p := start(t, role{Config: Config{Dir: dir}, Layout: narrow, Offset: time.Duration(rng.IntN(120)-60) * time.Second})
				p.must("acquire", 0)
				for range rng.IntN(4) {
					if rng.IntN(2) == 0 {
						p.must("renew", 0)
					}
					seen.note(p.must("ids", 1+rng.IntN(300)))
				}
				if rng.IntN(3) == 0 {
					p.must("release", 0)
				}
				p.kill()
			}
		})
	}
	wg.Wait()
	require.Zero(t, seen.twice)
	require.Greater(t, len(seen.ids), 1000)
}

// The same check finds repeated ids without records.
func TestWithoutRecordsAClockMustNotBeSetBack(t *testing.T) {
	t.Parallel()
	r := role{Frozen: time.Now(), Config: Config{Worker: worker(7)}}
	for _, stateless := range []bool{false, true} {
		r.Config.Stateless = stateless
		if !stateless {
			r.Config.Dir = t.TempDir()
		} else {
			r.Config.Dir = ""
		}
		seen := new(ledger)
		for range 2 {
			p := start(t, r)
			p.must("acquire", 0)
			seen.note(p.must("ids", 1000))
			p.kill()
		}
		require.Equal(t, stateless, seen.twice > 0)
	}
}

// A ledger counts repeated ids.
type ledger struct {
	mu    sync.Mutex
	ids   map[int64]bool
	twice int
}

func (l *ledger) note(a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ids == nil {
		l.ids = map[int64]bool{}
	}
	for _, id := range a.IDs {
		if l.ids[id] {
			l.twice++
		}
		l.ids[id] = true
	}
}
