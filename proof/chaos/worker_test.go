package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// layout has so long a sequence that no process uses up a tick.
var layout = snowflake.Layout{}.WithDefaults()

// workers is how many worker ids are lent. With twice as many, the connections that a
// PostgreSQL forks for keep two cores busy, and a run takes much longer.
const workers = 16

// An order tells a process what to do. It is passed in the environment.
type order struct {
	Store   store
	Break   string // a way to break the protocol, or empty
	Calm    bool   // a run of seconds, beside other tests: longer pauses
	Request lease.Request
	Layout  snowflake.Layout
	Journal string // file
	Seed    uint64
	Stream  stream // a stream of numbers instead of ids under a lease
	Behind  store  // a SQL database, for streams
}

// orderVariable holds the order of a process. If it is set, the test binary runs as a process.
const orderVariable = "SNOWLEASE_CHAOS_ORDER"

// Commands are lines on the standard input of a process. The process ends when its input ends.
const (
	hot  = "hot"  // issue without a pause
	cool = "cool" // back to normal
	stop = "stop" // give back the worker id and end
)

// A report is one line of a process's standard output, written every second.
type report struct {
	IDs    int64  `json:"ids"`
	Worker int64  `json:"worker"` // -1: none
	Why    string `json:"why"`    // it has none, if known
}

// A worker is a process that issues ids.
type worker struct {
	order
	*journal
	generator *generator.Generator
	random    *rand.Rand
	hot       atomic.Bool
}

// work is the main function of a process. It returns the exit code.
func work(text string) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "chaos: process:", err)
		return 1
	}
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return fail(err)
	}
	if o.Stream != "" {
		if err := issueNumbers(o, os.Stdin); err != nil {
			return fail(err)
		}
		return 0
	}
	j, err := openJournal(o.Journal)
	if err != nil {
		return fail(err)
	}
	w := &worker{order: o, journal: j, generator: generator.New(o.Layout), random: rand.New(rand.NewPCG(o.Seed, 0))}
	if err := w.run(os.Stdin); err != nil {
		return fail(err)
	}
	return 0
}

func (w *worker) run(in io.Reader) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	abandoned := false
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		defer cancel()
		abandoned = obey(in, &w.hot)
	}()

	center, closer, err := w.open(ctx)
	if ctx.Err() != nil {
		<-heard
	}
	if err != nil {
		if !abandoned && ctx.Err() != nil { // stopped before it could begin
			w.put(entry{kind: done})
			return w.err
		}
		return err
	}
	k := keeper.New(keeper.Config{
		Center: center, Generator: w.generator, Request: w.Request,
		Wait: time.Second + time.Duration(w.random.Int64N(int64(2*time.Second))),
	})
	issued := make(chan struct{})
	go func() {
		defer close(issued)
		w.issue(k)
	}()
	for ctx.Err() == nil && k.Start(ctx) != nil { // Start waits as configured
		pause(ctx, 100*time.Millisecond)
	}
	<-heard
	if abandoned {
		return errors.New("nobody listens any more")
	}
	_ = k.Stop(context.Background()) // if the store is down, the lease ends by itself
	<-issued
	w.put(entry{kind: done})
	return errors.Join(closer.Close(), w.err)
}

// obey follows commands until the process is to stop. It returns true if nobody gives any more.
func obey(in io.Reader, hurry *atomic.Bool) (abandoned bool) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		switch lines.Text() {
		case hot:
			hurry.Store(true)
		case cool:
			hurry.Store(false)
		case stop:
			return false
		}
	}
	return true
}

// open opens the center, which needs a store that answers.
func (w *worker) open(ctx context.Context) (lease.Center, io.Closer, error) {
	for {
		c, closer, err := w.Store.center(w.Break)
		if err == nil {
			return observe(c, w.journal, w.Break), closer, nil
		}
		if ctx.Err() != nil {
			return nil, nil, err
		}
		w.put(entry{kind: called, outcome: unknown})
		pause(ctx, 200*time.Millisecond)
	}
}

// Each round issues some thousand ids in a few tenths of a millisecond, one by one and
// in one reservation, which leaves time for others on a small machine.
const (
	each  = 4096
	spell = 250 * time.Microsecond
	batch = 16384
)

// issue issues ids until the generator has stopped.
func (w *worker) issue(k *keeper.Keeper) {
	var (
		out  = json.NewEncoder(os.Stdout)
		told = time.Now()
		ids  = make([]int64, batch)
		run  = entry{kind: runOf}
		raw  []byte
		errs [outcomes]int64

		had     bool      // ids
		without time.Time // when its ids ended; zero: it has ids
	)
	add := func(id int64) {
		if id == run.first+run.count {
			run.count++
			return
		}
		if run.count > 0 {
			raw = run.append(raw)
		}
		run.first, run.count = id, 1
	}
	for {
		var err error
		began := time.Now()
		for i := 0; i < each && err == nil && (i%256 != 0 || time.Since(began) < spell); i++ {
			var id int64
			if id, err = w.generator.NextID(); err == nil {
				add(id)
			}
		}
		if err == nil {
			some := ids[:1+w.random.IntN(batch)]
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			if err = w.generator.NextIDs(ctx, some); err == nil {
				for _, id := range some {
					add(id)
				}
			}
			cancel()
		}
		if run.count > 0 {
			raw, run, had = run.append(raw), entry{kind: runOf}, true
			if !without.IsZero() {
				raw = entry{kind: paused, count: time.Since(without).Milliseconds()}.append(raw)
			}
			without = time.Time{}
		} else if o := why(err); had && without.IsZero() && (o == expired || o == notStarted) {
			without = time.Now()
		}
		stopped := errors.Is(err, generator.ErrClosed)
		if err != nil && !stopped {
			errs[why(err)]++
		}
		if stopped || time.Since(told) > time.Second {
			for o, n := range errs {
				if n > 0 {
					raw = entry{kind: failed, outcome: outcome(o), count: n}.append(raw)
				}
			}
			w.write(raw)
			if stopped {
				return
			}
			r := report{IDs: w.generator.Issued(), Worker: -1}
			if s := k.Status(); s.State == keeper.Holding {
				r.Worker = s.Grant.Worker
			} else if s.Err != nil {
				r.Why = s.Err.Error()
			}
			if out.Encode(r) != nil {
				os.Exit(2) // the tests have ended
			}
			raw, errs, told = raw[:0], [outcomes]int64{}, time.Now()
		}
		if len(raw) > 0 {
			w.write(raw)
			raw = raw[:0]
		}
		switch {
		case !w.hot.Load():
			time.Sleep(w.rest(w.random))
		case err != nil:
			time.Sleep(time.Millisecond)
		}
	}
}

// rest returns how long a process pauses between rounds.
func (o order) rest(random *rand.Rand) time.Duration {
	d := 10*time.Millisecond + time.Duration(random.Int64N(int64(60*time.Millisecond)))
	if o.Calm {
		d *= 4
	}
	return d
}

// why returns why a caller got no id.
func why(err error) outcome {
	for o, target := range map[outcome]error{
		notStarted: generator.ErrNotStarted, expired: generator.ErrLeaseExpired, exhausted: generator.ErrExhausted,
	} {
		if errors.Is(err, target) {
			return o
		}
	}
	return otherwise
}

// short pauses for up to two leases.
func short(ctx context.Context, random *rand.Rand) {
	pause(ctx, time.Duration(random.Int64N(int64(2*ttl))))
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
