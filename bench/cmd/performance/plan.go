package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/snowlease/snowlease/bench/internal/measure"
	"github.com/snowlease/snowlease/bench/internal/peers"
)

// A plan sets how often and for how long each thing is measured. Without its first
// second, full.steady is twice the two seconds in which yitter runs ahead and waits.
type plan struct {
	rounds                                                           int // of the speeds
	speed, batch, crowd, pair, paced, steady, latency, burst, unique time.Duration
	pairs, latencies, batches, crowds                                int      // how often
	rush, path, inserts                                              []string // arguments of go test; nil: not measured
}

var (
	full = plan{
		rounds: 7, speed: 120 * time.Millisecond, batch: 40 * time.Millisecond, crowd: 60 * time.Millisecond, pair: 300 * time.Millisecond, paced: 1500 * time.Millisecond,
		steady: 5 * time.Second, latency: 600 * time.Millisecond, burst: 1400 * time.Millisecond, unique: time.Second,
		pairs: 15, latencies: 3, batches: 7, crowds: 3,
		rush:    []string{"^BenchmarkSteady$", "./internal/generator"},
		path:    []string{".", "-benchtime", "20x", "./path"},
		inserts: []string{"Insert|Keys/1000", "-benchtime", "200ms", "-count", "3", "./gorm"},
	}
	short = plan{
		rounds: 3, speed: 30 * time.Millisecond, batch: 20 * time.Millisecond, crowd: 20 * time.Millisecond, pair: 200 * time.Millisecond, paced: 600 * time.Millisecond,
		steady:  500 * time.Millisecond,
		latency: 150 * time.Millisecond, burst: 400 * time.Millisecond, unique: 200 * time.Millisecond,
		pairs: 3, latencies: 1, batches: 1, crowds: 1,
		rush: full.rush,
		path: []string{"Center|Memory|Renew", "-benchtime", "5x", "./path"},
	}
)

const bwmarrinBest = "bwmarrin/snowflake, best: 5 node and 17 step bits"

// inCrowds returns those that ever more goroutines and cores share: of the peers, the
// best setting of those that their layout does not hold up.
func inCrowds() []string {
	all := []string{peers.Add, peers.Generator, peers.IDWorker, peers.Blocks}
	for _, m := range peers.All() {
		if rate := m.Layout.PerSecond(); m.Kind == peers.Peer && m.Best && (rate == 0 || rate > 1e7) {
			all = append(all, m.String())
		}
	}
	return all
}

// crowds returns the processors of Go and the goroutines of each column: as many
// processors as there are cores with ever more goroutines, and, where there are more
// than two, ever more of both.
func crowds(cores int) (goroutines, processors []crowd) {
	for n := 1; n <= 16; n *= 2 {
		goroutines = append(goroutines, crowd{cores, n})
	}
	if cores > 2 {
		for n := 1; n < cores; n *= 2 {
			processors = append(processors, crowd{n, n})
		}
		processors = append(processors, crowd{cores, cores})
	}
	return goroutines, processors
}

// A crowd is so many goroutines on so many processors of Go.
type crowd struct{ procs, goroutines int }

// Sizes of batches.
var sizes = []int{10, 100, 1000}

// inBatches are those whose batches are measured; others make one id after the other.
var inBatches = []string{
	peers.TimerOnly, peers.Generator, peers.IDWorker, peers.BwmarrinDefault, bwmarrinBest,
	"edwingeng/wuid, default and best: no time in it", "segmentio/ksuid, default; batches by Sequence",
}

// underPressure are those that are measured in worse conditions too.
var underPressure = []string{
	peers.TimerOnly, peers.ClockCAS, peers.Generator, peers.BwmarrinDefault, bwmarrinBest,
	"sony/sonyflake/v2, best: 1 ms, 5 machine and 17 sequence bits", "yitter/idgenerator-go, best: 1 worker and 21 sequence bits",
	"edwingeng/wuid, default and best: no time in it", "google/uuid v7, best: EnableRandPool",
}

// names returns the names of the makers of the kinds.
func names(kinds ...peers.Kind) (all []string) {
	for _, m := range peers.All() {
		if slices.Contains(kinds, m.Kind) {
			all = append(all, m.String())
		}
	}
	return all
}

// A runner takes the samples of a plan, one after the other.
type runner struct {
	plan
	ctx     context.Context //nolint:containedctx // it lives for one run
	out     io.Writer
	started time.Time
	results Results
}

func (p plan) run(ctx context.Context, out io.Writer) (Results, error) {
	r := &runner{p, ctx, out, time.Now(), newResults()} //nolint:contextcheck // generators that are only named here
	for _, step := range []struct {
		name string
		do   func(progress func(done, of int)) error
	}{
		{"rushes", r.rushOf},
		{"speeds", r.speeds},
		{"ratios", r.ratios},
		{"goroutines", r.crowdsOf},
		{"batches", r.fills},
		{"latencies", r.latencyOf},
		{"uniqueness", r.uniqueness},
		{"bursts", r.bursts},
		{"sustained", r.sustained},
		{"borrowing, starting, memory, size", r.pathOf},
		{"inserts", r.insertsOf},
	} {
		progress := func(done, of int) {
			fmt.Fprintf(out, "\r%5s  %s %d/%d ", time.Since(r.started).Round(time.Second), step.name, done, of)
		}
		progress(0, 0)
		if err := step.do(progress); err != nil {
			fmt.Fprintln(out)
			return r.results, fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintln(out)
	}
	r.results.Took = time.Since(r.started).Round(time.Second)
	return r.results, nil
}

// each takes the samples of tasks in turn, n times over.
func (r *runner) each(n int, tasks []measure.Task, progress func(done, of int), take func(measure.Task, measure.Sample)) error {
	for round := range n {
		for i, t := range tasks {
			s, err := sample(r.ctx, t)
			if err != nil {
				return err
			}
			take(t, s)
			progress(round*len(tasks)+i+1, n*len(tasks))
		}
	}
	return nil
}

// onCores are the tasks for 1 and 2 processors of Go.
func onCores(t measure.Task) []measure.Task {
	one, two := t, t
	one.Procs, one.Goroutines = 1, 1
	two.Procs, two.Goroutines = 2, 2
	return []measure.Task{one, two}
}

func (r *runner) speeds(progress func(done, of int)) error {
	var tasks []measure.Task
	for _, m := range peers.All() {
		tasks = append(tasks, onCores(measure.Task{What: measure.Loop, Maker: m.String(), For: r.speed})...)
	}
	speed := func(t measure.Task) *Speed {
		f := r.results.figure(t.Maker)
		if t.Procs == 1 {
			return &f.Serial
		}
		return &f.Parallel
	}
	err := r.each(r.rounds, tasks, progress, func(t measure.Task, s measure.Sample) {
		v := speed(t)
		v.NS, v.Allocs, v.Bytes = append(v.NS, s.NS), s.Allocs, s.Bytes
	})
	for _, t := range tasks {
		t, floor := t, t
		floor.Maker = peers.ClockCAS
		speed(t).Floor = speed(floor).NS
	}
	return err
}

// pairKey names a ratio.
func pairKey(a, b string, procs int) string { return fmt.Sprintf("%s / %s on %d", a, b, procs) }

func pacedKey(a, b string) string { return fmt.Sprintf("%s / %s sustained", a, b) }

func (r *runner) ratios(progress func(done, of int)) error {
	of := func(a, b string) []measure.Task {
		return onCores(measure.Task{What: measure.Pairs, Maker: a, Against: b, For: r.pair})
	}
	tasks := append(of(peers.Generator, peers.ClockCAS), of(peers.IDWorker, peers.Generator)...)
	tasks = append(tasks, of(peers.Generator, peers.Add)...)
	tasks = append(tasks,
		of(peers.Generator, r.results.best(serial))[0], of(peers.Generator, r.results.best(parallel))[1],
		measure.Task{What: measure.Paced, Maker: peers.Twitter, Against: peers.BwmarrinDefault, Procs: r.results.Cores, Goroutines: 1, For: r.paced})
	ratios := map[string][]float64{}
	err := r.each(r.pairs, tasks, progress, func(t measure.Task, s measure.Sample) {
		key := pairKey(t.Maker, t.Against, t.Procs)
		if t.What == measure.Paced {
			key = pacedKey(t.Maker, t.Against)
		}
		ratios[key] = append(ratios[key], median(s.Ratios))
	})
	for key, v := range ratios {
		r.results.Pairs[key] = median(v)
	}
	return err
}

func (r *runner) crowdsOf(progress func(done, of int)) error {
	goroutines, processors := crowds(r.results.Cores)
	var tasks []measure.Task
	for _, name := range inCrowds() {
		for _, c := range slices.Concat(goroutines, processors) {
			tasks = append(tasks, measure.Task{What: measure.Loop, Maker: name, Procs: c.procs, Goroutines: c.goroutines, For: r.crowd})
		}
	}
	return r.each(r.crowds, tasks, progress, func(t measure.Task, s measure.Sample) {
		f := r.results.figure(t.Maker)
		if f.Crowds == nil {
			f.Crowds = map[string][]float64{}
		}
		key := crowd{t.Procs, t.Goroutines}.String()
		f.Crowds[key] = append(f.Crowds[key], s.NS)
	})
}

func (c crowd) String() string { return fmt.Sprintf("%d on %d", c.goroutines, c.procs) }

func (r *runner) fills(progress func(done, of int)) error {
	var tasks []measure.Task
	for _, name := range inBatches {
		for _, size := range sizes {
			r.results.Batches = append(r.results.Batches, Batch{Maker: name, Size: size})
			tasks = append(tasks, onCores(measure.Task{What: measure.Batches, Maker: name, Batch: size, For: r.batch})...)
		}
	}
	return r.each(r.batches, tasks, progress, func(t measure.Task, s measure.Sample) {
		if b := r.results.batch(t.Maker, t.Batch); t.Procs == 1 {
			b.Serial = append(b.Serial, s.NS)
		} else {
			b.Parallel = append(b.Parallel, s.NS)
		}
	})
}

func (r *runner) latencyOf(progress func(done, of int)) error {
	conditions := []string{plain, crowded, garbage}
	_, err := sample(r.ctx, measure.Task{What: measure.Loop, Maker: peers.TimerOnly, Procs: 1, Goroutines: 1, For: time.Millisecond, Quota: 0.5})
	if err == nil {
		conditions = append(conditions, quota)
	} else {
		r.results.QuotaRefused = "this machine does not let a program make a control group"
	}
	var tasks []measure.Task
	under := map[measure.Task]string{}
	for _, c := range conditions {
		makers := underPressure
		if c == plain {
			makers = append([]string{peers.TimerOnly, peers.ClockCAS}, names(peers.Ours, peers.Peer)...)
		}
		for _, m := range makers {
			t := measure.Task{What: measure.Latency, Maker: m, Procs: 2, Goroutines: 2, For: r.latency}
			switch c {
			case crowded:
				t.Procs, t.Goroutines = 8, 8
			case garbage:
				t.Garbage = true
			case quota:
				t.Quota = 0.5
			}
			tasks, under[t] = append(tasks, t), c
		}
	}
	all := map[measure.Task][]measure.Sample{}
	err = r.each(r.latencies, tasks, progress, func(t measure.Task, s measure.Sample) { all[t] = append(all[t], s) })
	for t, samples := range all {
		r.results.figure(t.Maker).Latency[under[t]] = middle(samples)
	}
	return err
}

// middle is the median of each figure, and the greatest of the longest latencies.
func middle(samples []measure.Sample) (m measure.Sample) {
	of := func(f func(measure.Sample) float64) float64 {
		var vs []float64
		for _, s := range samples {
			vs = append(vs, f(s))
		}
		return median(vs)
	}
	m.NS = of(func(s measure.Sample) float64 { return s.NS })
	m.Latencies.P50 = of(func(s measure.Sample) float64 { return s.Latencies.P50 })
	m.Latencies.P99 = of(func(s measure.Sample) float64 { return s.Latencies.P99 })
	m.Latencies.P999 = of(func(s measure.Sample) float64 { return s.Latencies.P999 })
	m.Latencies.P9999 = of(func(s measure.Sample) float64 { return s.Latencies.P9999 })
	m.Latencies.Stalls = of(func(s measure.Sample) float64 { return s.Latencies.Stalls })
	for _, s := range samples {
		m.Latencies.Max = max(m.Latencies.Max, s.Latencies.Max)
		m.IDs += s.IDs
	}
	return m
}

// together are the goroutines of each look at uniqueness.
var together = []int{2, 16}

func (r *runner) uniqueness(progress func(done, of int)) error {
	var tasks []measure.Task
	for _, name := range names(peers.Ours, peers.Peer) {
		for _, goroutines := range together {
			tasks = append(tasks, measure.Task{What: measure.Unique, Maker: name, Procs: r.results.Cores, Goroutines: goroutines, For: r.unique})
		}
	}
	return r.each(1, tasks, progress, func(t measure.Task, s measure.Sample) {
		f := r.results.figure(t.Maker)
		f.Unique = append(f.Unique, s)
	})
}

func (r *runner) bursts(progress func(done, of int)) error {
	return r.each(1, r.alone(measure.Burst, r.burst, names(peers.Ours, peers.Peer)), progress, func(t measure.Task, s measure.Sample) {
		r.results.figure(t.Maker).Burst = s
	})
}

func (r *runner) sustained(progress func(done, of int)) error {
	makers := append([]string{peers.ClockCAS}, names(peers.Ours, peers.Peer)...)
	return r.each(1, r.alone(measure.Steady, r.steady, makers), progress, func(t measure.Task, s measure.Sample) {
		r.results.figure(t.Maker).Steady = s
	})
}

// alone are tasks for one goroutine with all cores of the machine.
func (r *runner) alone(what measure.What, d time.Duration, makers []string) (tasks []measure.Task) {
	for _, m := range makers {
		tasks = append(tasks, measure.Task{What: what, Maker: m, Procs: r.results.Cores, Goroutines: 1, For: d})
	}
	return tasks
}

func (r *runner) rushOf(func(done, of int)) (err error) {
	if r.rush != nil {
		r.results.Rush, err = goBench(r.ctx, "..", r.rush...)
	}
	return err
}

func (r *runner) pathOf(func(done, of int)) (err error) {
	if r.path != nil {
		r.results.Path, err = goBench(r.ctx, "", r.path...)
	}
	return err
}

func (r *runner) insertsOf(func(done, of int)) (err error) {
	if r.inserts != nil {
		r.results.Inserts, err = goBench(r.ctx, "", r.inserts...)
	}
	return err
}
