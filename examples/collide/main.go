// Collide shows how often two processes get the same worker id, and how many duplicate ids
// they issue, for common ways to choose a worker id and for leases.
//
//	go run ./examples/collide
//
// Each process makes 20 ids at random moments, 100 a second. Where worker ids are chosen, that
// time is simulated, in 1,000 deployments of each size. Where they are leased, it is real, in
// one deployment of each size on a store in memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/snowlease/snowlease/casstore"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
)

const (
	idsPerProcess = 20
	idsPerSecond  = 100 // of a process
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "collide:", err)
		os.Exit(1)
	}
}

// run prints the table.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("collide", flag.ContinueOnError)
	deployments := flags.Int("deployments", 1000, "deployments of each size to simulate, at least 1")
	seed := flags.Uint64("seed", 1, "seed of the simulation")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *deployments < 1 {
		return fmt.Errorf("-deployments %d: at least 1", *deployments)
	}
	sizes := []int{8, 32, 128}
	fmt.Fprintf(out, "%-34s%-45s%s\n", "", "% of deployments in which two processes", "of a million ids,")
	fmt.Fprintf(out, "%-34s%-45s%s\n", "", "share a worker id (computed)", "made a second time")
	line(out, "processes", "8", "32", "128", "8", "32", "128")
	for _, w := range ways() {
		results := make([]result, len(sizes))
		for i, n := range sizes {
			results[i] = simulate(w, n, *deployments, *seed)
		}
		row(out, w, sizes, results)
	}
	results, err := leased(ctx, sizes)
	if err != nil {
		return err
	}
	row(out, way{name: "a lease"}, sizes, results)
	return nil
}

// row prints the results of a way.
func row(out io.Writer, w way, sizes []int, results []result) {
	cells := []string{w.name}
	for i, r := range results {
		share := fmt.Sprintf("%.1f", 100*float64(r.sharing)/float64(r.deployments))
		if w.chance != nil {
			share += fmt.Sprintf(" (%.1f)", 100*w.chance(sizes[i]))
		}
		cells = append(cells, share)
	}
	for _, r := range results {
		cells = append(cells, fmt.Sprintf("%.0f", 1e6*float64(r.repeated)/float64(r.ids)))
	}
	line(out, cells...)
}

// line prints cells in columns.
func line(out io.Writer, cells ...string) {
	text := ""
	for i, width := range []int{34, 15, 15, 15, 8, 8, 8}[:len(cells)] {
		text += fmt.Sprintf("%-*s", width, cells[i])
	}
	fmt.Fprintln(out, strings.TrimRight(text, " "))
}

// A result counts the deployments of one size.
type result struct {
	deployments, sharing, ids, repeated int
}

// add counts a deployment by the worker ids of its processes and all their ids.
func (r *result) add(workers, ids []int64) {
	r.deployments++
	if distinct(workers) < len(workers) {
		r.sharing++
	}
	r.ids += len(ids)
	r.repeated += len(ids) - distinct(ids)
}

func distinct(list []int64) int {
	seen := make(map[int64]struct{}, len(list))
	for _, v := range list {
		seen[v] = struct{}{}
	}
	return len(seen)
}

// simulate runs deployments of n processes.
func simulate(w way, n, deployments int, seed uint64) (total result) {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	for range deployments {
		workers, ids := w.choose(r, n), make([]int64, 0, n*idsPerProcess)
		for _, worker := range workers {
			ids = issue(ids, worker, r)
		}
		total.add(workers, ids)
	}
	return total
}

// issue appends the ids of a process. As in most generators, each millisecond counts from 0.
func issue(ids []int64, worker int64, r *rand.Rand) []int64 {
	var clock time.Duration
	last, sequence := int64(-1), int64(0)
	for range idsPerProcess {
		clock += pause(r.ExpFloat64())
		now := clock.Milliseconds()
		if sequence++; now != last {
			last, sequence = now, 0
		}
		ids = append(ids, now<<22|worker<<12|sequence)
	}
	return ids
}

// pause returns the time until a process makes its next id.
func pause(exponential float64) time.Duration {
	return time.Duration(exponential * float64(time.Second) / idsPerSecond)
}

// leased runs a deployment of each size, all at the same time, with worker ids from a store.
func leased(ctx context.Context, sizes []int) ([]result, error) {
	center := casstore.New(&store{records: map[string]casstore.Record{}})
	results := make([]result, len(sizes))
	err := all(len(sizes), func(i int) error { return deploy(ctx, center, sizes[i], &results[i]) })
	return results, err
}

// deploy runs n processes in a new namespace.
func deploy(ctx context.Context, center lease.Center, n int, total *result) (err error) {
	workers, ids := make([]int64, n), make([]int64, n*idsPerProcess)
	opened := make([]*idworker.IdWorker, n)
	defer func() {
		for _, w := range opened {
			if w != nil {
				err = errors.Join(err, w.Close())
			}
		}
	}()
	cfg := config(fmt.Sprint("processes-", n))
	if err := create(ctx, center, cfg); err != nil {
		return err
	}
	for i := range n {
		if opened[i], err = idworker.Open(ctx, cfg, idworker.Clients{Center: center}); err != nil {
			return err
		}
		workers[i] = opened[i].Status().Worker
	}
	err = all(n, func(i int) error {
		for k := range idsPerProcess {
			time.Sleep(pause(rand.ExpFloat64()))
			id, err := opened[i].NextIDWait(ctx)
			if err != nil {
				return err
			}
			ids[i*idsPerProcess+k] = id
		}
		return nil
	})
	total.add(workers, ids)
	return err
}

// config is the configuration of a process. On a busy machine the whole run can take a minute: no
// renewal falls into it, since the renewals of all processes would compete for the store's one record.
func config(namespace string) idworker.Config {
	return idworker.Config{
		Namespace: namespace, Preset: "wide", Wait: time.Minute,
		Lease: idworker.LeaseConfig{TTL: 3 * time.Minute, MaxTTL: 3 * time.Minute, Renew: "@every 1m"},
	}
}

// create creates a namespace. Without it, first leases would be short and renewed often.
func create(ctx context.Context, center lease.Center, cfg idworker.Config) error {
	req, err := cfg.Request() //nolint:contextcheck // it reads the configuration
	if err != nil {
		return err
	}
	return center.Extras().Init(ctx, req)
}

// all calls do(0) to do(n-1) concurrently.
func all(n int, do func(int) error) (err error) {
	errs := make(chan error)
	for i := range n {
		go func() { errs <- do(i) }()
	}
	for range n {
		err = errors.Join(err, <-errs)
	}
	return err
}
