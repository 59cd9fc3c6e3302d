package measure

import (
	"slices"
	"sync"
	"time"

	"github.com/snowlease/snowlease/bench/internal/peers"
)

// steady runs for the task's duration and checks that each id is greater than the one
// before.
func steady(src peers.Source, rises bool, t Task) (s Sample) {
	probe := src.Mine()
	n := chunk(func(n int) {
		for range n {
			probe.Next()
		}
	}, time.Millisecond)
	s.Windows = make([]int64, t.For/Window)
	var mu sync.Mutex
	elapsed := together(t.Goroutines, func(_ int, start time.Time) {
		src, mine := src.Mine(), Sample{Windows: make([]int64, len(s.Windows))}
		last := src.Next()
		for at := time.Since(start); mine.IDs == 0 || at < t.For; at = time.Since(start) {
			for range n {
				id := src.Next()
				if id <= last {
					mine.Disorder++
				}
				last = id
			}
			mine.IDs += int64(n)
			mine.Windows[min(int(at/Window), len(mine.Windows)-1)] += int64(n)
		}
		mu.Lock()
		defer mu.Unlock()
		s.IDs += mine.IDs
		s.Disorder += mine.Disorder
		for i, w := range mine.Windows {
			s.Windows[i] += w
		}
	})
	s.NS = float64(elapsed) / float64(s.IDs)
	if !rises {
		s.Disorder = 0
	}
	return s
}

// burst is flat out after idleness, for half of the time each, and then one id each
// 100 µs, whose latencies it returns.
func burst(src peers.Source, rises bool, t Task) Sample {
	flat := t
	flat.For, flat.Goroutines = t.For/2, 1
	time.Sleep(flat.For)
	s := steady(src, rises, flat)
	src = src.Mine()
	var h histogram
	for start := time.Now(); h.n == 0 || time.Since(start) < t.For-flat.For; {
		due := time.Since(start) + 100*time.Microsecond
		for time.Since(start) < due { // a sleep is too coarse
		}
		before := time.Since(start)
		src.Next()
		h.add(int64(time.Since(start) - before))
	}
	s.Latencies = h.latencies()
	return s
}

// most is how many ids unique keeps.
const most = 8_000_000

// unique keeps everything that was made and looks for equal ones.
func unique(src peers.Source, m peers.Maker, t Task) (s Sample) {
	made := make([][]int64, t.Goroutines)
	together(t.Goroutines, func(g int, start time.Time) {
		src, ids := src.Mine(), make([]int64, 0, most/t.Goroutines)
		for len(ids) < cap(ids) && (len(ids) == 0 || len(ids)&63 != 0 || time.Since(start) < t.For) {
			if len(ids)%10_000 == 5_000 && cap(ids)-len(ids) >= 100 { // batches among them
				ids = ids[:len(ids)+100]
				src.Fill(ids[len(ids)-100:])
				continue
			}
			ids = append(ids, src.Next())
		}
		made[g] = ids
	})
	if m.Rises {
		for _, ids := range made {
			for i := 1; i < len(ids); i++ {
				if ids[i] <= ids[i-1] {
					s.Disorder++
				}
			}
		}
	}
	all := slices.Concat(made...)
	s.IDs = int64(len(all))
	slices.Sort(all)
	s.Duplicates = s.IDs - int64(len(slices.Compact(all)))
	return s
}
