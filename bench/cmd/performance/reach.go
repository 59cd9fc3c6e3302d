package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/snowlease/snowlease/bench/internal/peers"
)

// A Goal is one line of what this library is to reach.
type Goal struct {
	What, Limit string
	Measured    string
	Met         bool
	Obstacle    string `json:",omitempty"` // what stands in the way, where there is a known limit
}

// Goals are judged by ratios within the run.
func (r *Results) Goals() []Goal {
	var goals []Goal
	judge := func(what string, limit, measured float64, known bool) {
		g := Goal{What: what, Limit: number(limit), Measured: "not measured"}
		if known {
			g.Measured = number(measured)
			shown, err := strconv.ParseFloat(g.Measured, 64) // what a reader compares
			g.Met = shown <= limit && err == nil || measured <= limit
		}
		goals = append(goals, g)
	}
	ratio := func(what string, limit, measured float64) { judge(what, limit, measured, measured > 0) }
	line := func(what string, limit float64, lines Lines, name, unit string) {
		measured, known := lines[name][unit]
		judge(what, limit, measured, known)
	}
	pair := func(a, b string, procs int) float64 { return r.Pairs[pairKey(a, b, procs)] }
	ratio("`NextID` serial where the layout allows it / one atomic add", 1.5, pair(peers.Generator, peers.Add, 1))
	goals[len(goals)-1].Obstacle = fmt.Sprintf("a reading of the clock takes %s ns, which is %s ns for each of 32 ids; the rest is the call, and the id put together and checked",
		number(median(r.figure(peers.Clock).Serial.NS)), number(median(r.figure(peers.Clock).Serial.NS)/32))
	ratio("`NextID` on 2 cores / one atomic add on 2 cores", 1.5, pair(peers.Generator, peers.Add, 2))
	goals[len(goals)-1].Obstacle = fmt.Sprintf("a core adds several times before the other core takes the word away, and fewer times the more it does between its adds: an add takes %s ns on one core, an id %s ns",
		number(median(r.figure(peers.Add).Serial.NS)), number(median(r.figure(peers.Generator).Serial.NS)))
	ratio("`NextID` serial / (`time.Since` + CAS)", 1.15, pair(peers.Generator, peers.ClockCAS, 1))
	ratio("`NextID` on 2 cores / the same floor on 2 cores", 1.15, pair(peers.Generator, peers.ClockCAS, 2))
	ours, theirs := r.figure(peers.Generator), r.figure(peers.BwmarrinDefault)
	ratio("`NextID` sustained / bwmarrin default sustained", 0.15, theirs.pace()/ours.pace())
	ratio("`NextID` with 10 and 12 bits sustained / bwmarrin default sustained", 1, r.Pairs[pacedKey(peers.Twitter, peers.BwmarrinDefault)])
	for _, c := range []struct {
		what  string
		speed func(*Figure) Speed
	}{{"serial", serial}, {"on 2 cores", parallel}} {
		ratio("`NextID` "+c.what+" at its full rate, ns", 12, median(c.speed(ours).NS))
		goals[len(goals)-1].Obstacle = fmt.Sprintf("one atomic add to a word that all share takes %s ns by itself, a reading of the clock %s ns",
			number(median(c.speed(r.figure(peers.Add)).NS)), number(median(c.speed(r.figure(peers.Clock)).NS)))
	}
	for i, c := range []struct {
		what, best string
		limit      float64
	}{{"serial", r.best(serial), 0.95}, {"on 2 cores", r.best(parallel), 0.4}} {
		ratio("`NextID` "+c.what+" / best time-ordered peer at its best setting", c.limit, pair(peers.Generator, c.best, i+1))
		name, _, _ := strings.Cut(c.best, ",")
		goals[len(goals)-1].Measured += " (" + name + ")" // not the same in each run
	}
	batch, loop := median(r.batch(peers.Generator, 1000).Serial), median(r.batch(peers.BwmarrinDefault, 1000).Serial)
	ratio("`NextIDs(1000)`, ns per id", 1, batch)
	goals[len(goals)-1].Obstacle = fmt.Sprintf("to write 1,000 numbers to a slice takes %s ns each by itself", number(median(r.batch(peers.TimerOnly, 1000).Serial)))
	ratio("`NextIDs(1000)`, per id / a bwmarrin loop", 1.0/200, batch/loop)
	load, timer, floor := ours.Latency[plain], r.figure(peers.TimerOnly).Latency[plain], r.figure(peers.ClockCAS).Latency[plain]
	ratio("p99.99 under load / timer-only p99.99", 2, load.Latencies.P9999/timer.Latencies.P9999)
	goals[len(goals)-1].Obstacle = fmt.Sprintf("the longer calls are, the more of them are interrupted: of ours %s a second lie above p99.99, of the timer's %s. Interruptions of 2 µs and more come %s times a second "+
		"with us, %s times with the timer alone; p99.99 of `time.Since` + CAS, whose calls are as long as ours, is %s, ours %s",
		whole(1e5/load.NS), whole(1e5/timer.NS), whole(load.Latencies.Stalls), whole(timer.Latencies.Stalls), duration(floor.Latencies.P9999), duration(load.Latencies.P9999))
	ratio("p99.99 under load / that of `time.Since` + CAS", 2, load.Latencies.P9999/floor.Latencies.P9999)
	ratio("calls of 2 µs and more a second, under load / timer-only", 2, max(1, load.Latencies.Stalls)/max(1, timer.Latencies.Stalls))
	allocs := ours.Serial.Allocs + ours.Parallel.Allocs
	goals = append(goals, Goal{What: "allocations of `NextID`", Limit: "0", Measured: number(allocs), Met: allocs < 0.0005})
	for i, where := range []string{"serial", "on 2 cores"} {
		ratio("`NextID` through `*IdWorker` / the bare generator, "+where, 1.05, pair(peers.IDWorker, peers.Generator, i+1))
		goals[len(goals)-1].Obstacle = fmt.Sprintf("it is one call more, and an id by the generator takes %s ns", number(median(ours.Serial.NS)))
	}
	line("starts of a rush a second at a steady rate", 1, r.Rush, "Steady", "rushes/s")
	for _, c := range []struct {
		store string
		trips float64
	}{{"Redis", 1}, {"MariaDB", 4}, {"PostgreSQL", 4}} {
		line("round trips of a borrow, "+c.store, c.trips, r.Path, "Center/"+c.store, "borrow-trips")
		line("round trips of a renewal, "+c.store, 1, r.Path, "RenewPool/"+c.store, "trips")
		line("a renewal in a pool of 1,024 / in one of 32, "+c.store, 1.2, r.Path, "RenewPool/"+c.store, "ratio")
	}
	return goals
}

// number formats v with three significant digits.
func number(v float64) string {
	if v > 0 && v < 0.0005 {
		return "< 0.0005"
	}
	decimals := 4
	for limit := 0.1; decimals > 0 && v >= limit; limit *= 10 {
		decimals--
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if decimals > 0 {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text
}
