package main

import (
	"os"
	"regexp"
	"runtime"
	"slices"
	"time"

	"github.com/snowlease/snowlease/bench/internal/measure"
	"github.com/snowlease/snowlease/bench/internal/peers"
)

// Results are all that was measured.
type Results struct {
	Date, CPU, Platform, Go, Command string
	Cores                            int
	Took                             time.Duration
	QuotaRefused                     string // why there is no quota

	Figures []*Figure
	Batches []Batch
	// Pairs are the medians of ratios of two makers that took turns in a process.
	Pairs   map[string]float64
	Rush    Lines // of the benchmark of rushes in internal/generator
	Path    Lines // of those in path
	Inserts Lines // of those in gorm
}

// A Figure holds the measurements of one maker.
type Figure struct {
	Maker            string
	Serial, Parallel Speed
	Steady           measure.Sample
	Burst            measure.Sample
	Unique           []measure.Sample // of ever more goroutines
	Latency          map[string]measure.Sample
	Crowds           map[string][]float64 // ns an id, by goroutines and processors
}

// sustained returns the nanoseconds an id takes after the first second, in which some
// run ahead of their clock.
func (f *Figure) sustained() float64 {
	windows := f.Steady.Windows
	windows = windows[min(len(windows)/6, int(time.Second/measure.Window)):]
	var ids int64
	for _, n := range windows {
		ids += n
	}
	return float64(len(windows)) * float64(measure.Window) / float64(ids)
}

// pace is the median of the ids in a tenth of a second.
func (f *Figure) pace() float64 {
	var windows []float64
	for _, w := range f.Steady.Windows {
		windows = append(windows, float64(w))
	}
	return median(windows)
}

// A Speed is the nanoseconds an id takes, in each round of samples.
type Speed struct {
	NS     []float64
	Floor  []float64 // of the round: time.Since + CAS
	Allocs float64
	Bytes  float64
}

func (s Speed) median() float64 { return median(s.NS) }

// ratio is the median of the rounds' ratios to the floor.
func (s Speed) ratio() float64 {
	var ratios []float64
	for i, ns := range s.NS {
		ratios = append(ratios, ns/s.Floor[i])
	}
	return median(ratios)
}

// A Batch is the nanoseconds an id takes in a batch of Size.
type Batch struct {
	Maker            string
	Size             int
	Serial, Parallel []float64
}

// Conditions of latencies.
const (
	plain   = "alone"
	crowded = "8 processors of Go"
	garbage = "garbage"
	quota   = "quota"
)

func (r *Results) figure(maker string) *Figure {
	i := slices.IndexFunc(r.Figures, func(f *Figure) bool { return f.Maker == maker })
	if i < 0 { // in a file of another version
		return &Figure{}
	}
	return r.Figures[i]
}

func (r *Results) batch(maker string, size int) *Batch {
	i := slices.IndexFunc(r.Batches, func(b Batch) bool { return b.Maker == maker && b.Size == size })
	return &r.Batches[i]
}

// best returns the fastest peer whose ids are ordered by time.
func (r *Results) best(speed func(*Figure) Speed) string {
	best, least := "", 0.0
	for _, m := range peers.All() {
		ns := speed(r.figure(m.String())).median()
		if m.Kind != peers.Peer || !m.ByTime || ns == 0 {
			continue
		}
		if best == "" || ns < least {
			best, least = m.String(), ns
		}
	}
	return best
}

func serial(f *Figure) Speed   { return f.Serial }
func parallel(f *Figure) Speed { return f.Parallel }

// newResults returns Results that describe this machine.
func newResults() Results {
	r := Results{
		Date: time.Now().UTC().Format(time.DateOnly), CPU: "unknown", Cores: runtime.NumCPU(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Pairs: map[string]float64{},
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if m := regexp.MustCompile(`model name\s*: (.*)`).FindSubmatch(text); m != nil {
			r.CPU = string(m[1])
		}
	}
	for _, m := range peers.All() {
		r.Figures = append(r.Figures, &Figure{Maker: m.String(), Latency: map[string]measure.Sample{}})
	}
	return r
}
