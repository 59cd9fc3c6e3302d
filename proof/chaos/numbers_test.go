package chaos

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/redisnumbers"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/numbers/history"
)

// A stream is a source of numbers for a process.
type stream string

// The streams. Numbers of a strict stream rise across processes.
const (
	sequence       stream = "redis-sequence"
	strictSequence stream = "redis-sequence, strict"
	segments       stream = "segments"
	strictSegments stream = "segments, strict"
	dispenser      stream = "dispenser"
	past           stream = "backdated ids"
	gapless        stream = "gapless series"

	careless  stream = "segments that are read, then written" // broken on purpose
	forgetful stream = "INCRBY"                               // too: what Redis forgets, it issues again
)

// streams has each stream, those with fewer numbers more often.
var streams = []stream{sequence, strictSequence, segments, dispenser, strictSegments, dispenser, past, gapless}

func (s stream) strict() bool {
	return s == strictSequence || s == strictSegments || s == dispenser || s == gapless
}

// ordered reports whether the numbers of s rise across processes, within a span.
func (s stream) ordered() bool { return s.strict() || s == careless || s == past }

// span returns the part of s in which a number rises: all of s, or its second.
func (s stream) span(number int64) int64 {
	if s == past {
		return number / (reserved * layout.PerTick())
	}
	return 0
}

// source issues numbers.
type source interface {
	NextIDs(ctx context.Context, dst []int64) error
}

// issuer returns the stream that stands for all that take their numbers from the same
// place.
func (s stream) issuer() stream {
	if s == strictSequence {
		return sequence
	}
	return s
}

// sequenceConfig has the skew that the clock faults use.
func sequenceConfig(s stream) counter.Config {
	c := counter.Config{Namespace: namespace, Layout: layout, MaxAhead: 500 * time.Millisecond, Skew: skew}
	if s.strict() {
		c.Prefetch = 1
	}
	return c
}

// incremented is numbers that INCRBY counts.
type incremented struct{ redis.UniversalClient }

// NextIDs fills dst with numbers.
func (c incremented) NextIDs(ctx context.Context, dst []int64) error {
	last, err := c.IncrBy(ctx, key("sequence"), int64(len(dst))).Result()
	for i := range dst {
		dst[i] = last - int64(len(dst)-1-i)
	}
	return err
}

// opened are what a stream has opened.
type opened []io.Closer

func (o opened) close() {
	for _, c := range slices.Backward(o) {
		_ = c.Close()
	}
}

// numbersOf opens a stream, and notes what it has opened even if it fails.
func numbersOf(ctx context.Context, o order, all *opened) (source, error) {
	var client redis.UniversalClient
	switch o.Stream {
	case sequence, strictSequence, dispenser, forgetful:
		client = o.Store.redis()
		*all = append(*all, client)
	}
	switch o.Stream {
	case forgetful:
		return incremented{client}, nil
	case sequence, strictSequence:
		seq, err := counter.New(client, sequenceConfig(o.Stream))
		if err != nil {
			return nil, err
		}
		*all = append(*all, seq)
		err = seq.Start(ctx)
		if errors.As(err, new(*lease.QuarantineError)) {
			err = nil
		}
		return seq, err
	}
	pool, err := o.Behind.pool()
	if err != nil {
		return nil, err
	}
	*all = append(*all, pool)
	pool.SetMaxIdleConns(1) // PostgreSQL forks for each connection: the twenty statements here took seconds on a busy machine
	center, err := dbseq.New(pool, dbseq.Postgres)
	if err != nil {
		return nil, err
	}
	store := center.Numbers()
	cfg := numbers.SegmentConfig{Namespace: "shop", Name: string(o.Stream[:8]), Step: 200, Cover: time.Second}
	if o.Stream.strict() {
		cfg.Name, cfg.Strict = "strict", true
	}
	switch o.Stream {
	case gapless:
		s, err := numbers.OpenSeries(ctx, store, numbers.SeriesConfig{Namespace: "shop", Name: "invoices", Period: numbers.Year, Gapless: true})
		return inTransactions{s, pool}, err
	case past:
		w, err := snowlease.Open(ctx, center, snowlease.Config{Namespace: namespace, Layout: layout, Reserved: reserved, TTL: ttl, MaxTTL: ttl, Skew: skew})
		if err != nil {
			return nil, err
		}
		*all = append(*all, w)
		ids, err := history.New(w, store, history.Config{})
		if err != nil {
			return nil, err
		}
		return pastIDs{ids.Backfill(time.Now()), rand.New(rand.NewPCG(o.Seed, 1))}, nil
	case dispenser:
		cfg.Name = "dispensed"
		d, err := redisnumbers.NewDispenser(client, store, cfg)
		if err != nil {
			return nil, err
		}
		*all = append(*all, d)
		store = d
	case careless:
		cfg.Name, cfg.Strict, cfg.MinStep, cfg.Step, cfg.MaxStep = "careless", true, 1, 1, 1000
		store = readThenWrite{store, pool.ExecContext, pool.QueryRowContext}
	}
	issuer, err := numbers.OpenSegment(ctx, store, cfg)
	if err != nil {
		return nil, err
	}
	*all = append(*all, issuer)
	return issuer, nil
}

// reserved is the number of worker ids for backdated ids.
const reserved = 2

// pastIDs numbers backdated ids: the position of an id in its second, after all
// ids of earlier seconds.
type pastIDs struct {
	*history.Issuer
	random *rand.Rand
}

// NextIDs makes ids for a time in one of four seconds, which are the same in all
// processes. They advance so slowly that their ids need all reserved worker ids. An id
// for another time, or with a live worker id, ends the process.
func (p pastIDs) NextIDs(ctx context.Context, dst []int64) error {
	second := monotonic()/int64(3*time.Second) + p.random.Int64N(4)
	at := layout.TickTime(second*1000 + p.random.Int64N(1000))
	if err := p.NextIDsAt(ctx, at, dst); err != nil {
		return err
	}
	for i, id := range dst {
		parts, err := layout.Decode(id)
		nth := layout.Workers() - 1 - parts.Worker
		if err != nil || !parts.Time.Equal(at) || nth >= reserved {
			panic(fmt.Sprintf("id %d for %v is %+v: %v", id, at, parts, err))
		}
		dst[i] = second*reserved*layout.PerTick() + nth*layout.PerTick() + parts.Sequence
	}
	slices.Sort(dst) // numbers fall as worker ids rise
	return nil
}

// inTransactions takes numbers of a gapless series, each time in a transaction.
type inTransactions struct {
	*numbers.Series
	pool *sql.DB
}

// NextIDs fills dst with years and numbers. Without an answer to the commit it has none.
func (t inTransactions) NextIDs(ctx context.Context, dst []int64) error {
	tx, err := t.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for i := range dst {
		n, err := t.NextTx(ctx, tx, "")
		if err != nil {
			return err
		}
		dst[i] = int64(n.Period.Year())*10_000_000_000 + n.Value
	}
	return tx.Commit()
}

// issueNumbers is the main function of a process with a stream.
func issueNumbers(o order, commands io.Reader) error {
	j, err := openJournal(o.Journal)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var hurry, abandoned atomic.Bool
	go func() {
		defer cancel()
		abandoned.Store(obey(commands, &hurry))
	}()
	w := numberWriter{order: o, journal: j, random: rand.New(rand.NewPCG(o.Seed, 0))}
	for ctx.Err() == nil {
		opening, done := context.WithTimeout(ctx, 10*time.Second) // for some twenty statements
		var all opened
		src, err := numbersOf(opening, o, &all)
		done()
		if err == nil {
			w.issue(ctx, src, &hurry)
		}
		all.close()
		if err != nil {
			w.note(0, 0, nil)
			w.tell(err)
			pause(ctx, 200*time.Millisecond)
		}
	}
	if abandoned.Load() {
		return errors.New("nobody listens any more")
	}
	return errors.Join(w.err, w.file.Close())
}

// A numberWriter keeps the journal of a stream.
type numberWriter struct {
	order
	*journal
	random *rand.Rand
	issued int64
	told   time.Time
}

// note notes what a call returned; no numbers mean that it failed.
func (w *numberWriter) note(asked, there int64, numbers []int64) {
	var raw []byte
	if len(numbers) == 0 {
		raw = entry{kind: failed, outcome: otherwise, count: 1}.append(nil)
	}
	for from := 0; from < len(numbers); {
		n := 1
		for from+n < len(numbers) && numbers[from+n] == numbers[from]+int64(n) {
			n++
		}
		raw = entry{kind: runOf, first: numbers[from], count: int64(n), asked: asked, there: there}.append(raw)
		from += n
	}
	w.write(raw)
	w.issued += int64(len(numbers))
}

// tell reports how many numbers were issued, and what the last call returned.
func (w *numberWriter) tell(err error) {
	r := report{IDs: w.issued}
	if err != nil {
		r.Worker, r.Why = -1, err.Error()
	}
	if json.NewEncoder(os.Stdout).Encode(r) != nil {
		os.Exit(2) // the tests have ended
	}
}

// issue issues numbers until ctx ends.
func (w *numberWriter) issue(ctx context.Context, src source, hurry *atomic.Bool) {
	most := 2000
	if w.Stream.strict() {
		most = 20
	}
	for ctx.Err() == nil {
		dst := make([]int64, 1+w.random.IntN(most))
		call, done := context.WithTimeout(ctx, 2*time.Second)
		asked := monotonic()
		err := src.NextIDs(call, dst)
		there := monotonic()
		done()
		if err != nil {
			dst = nil
		}
		w.note(asked, there, dst)
		if time.Since(w.told) > 500*time.Millisecond {
			w.tell(err)
			w.told = time.Now()
		}
		if !hurry.Load() || err != nil {
			pause(ctx, w.rest(w.random))
		}
	}
}

// monotonic returns the nanoseconds of a clock that all processes of this machine
// share and that nobody sets.
func monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // this clock always exists
	}
	return t.Nano()
}

// counted is an arena of processes that count ids in Redis.
func counted(newArena func(*testing.T) *arena) func(*testing.T) *arena {
	return func(t *testing.T) *arena {
		a := newArena(t)
		a.share = 40
		a.streams, a.clock.half, a.keys = []stream{sequence, strictSequence}, true, []string{key("sequence")}
		a.noticedBy = func(ctx context.Context) error {
			client := a.direct().redis()
			seq, err := counter.New(client, sequenceConfig(sequence))
			if err != nil {
				return errors.Join(err, client.Close())
			}
			for {
				if err = seq.Start(ctx); err == nil || errors.As(err, new(*lease.QuarantineError)) || ctx.Err() != nil {
					break
				}
				pause(ctx, 50*time.Millisecond)
			}
			_ = seq.Close()
			return client.Close()
		}
		return a
	}
}

// newNumbers is a Redis with a replica, and a PostgreSQL that loses nothing.
func newNumbers(t *testing.T) *arena {
	a := counted(newSingle)(t)
	a.share, a.streams, a.keys = 20, streams, append(a.keys, "snowlease:{shop}:dispenser:dispensed")
	server := testserver.NewPostgres(t)
	at := server.Addr()
	more := newNetwork(t, at)
	for i, proxies := range a.groups {
		proxies[at] = more.groups[i][at]
	}
	_, port, _ := strings.Cut(at, ":")
	a.behind = func(group int) store {
		_, p, _ := strings.Cut(a.groups[group][at].Listen, ":")
		return store{Kind: postgre, DSN: strings.Replace(server.DSN()+" connect_timeout=2", port, p, 1)}
	}
	d := &database{arena: a, server: server, driver: "pgx"}
	a.faults = append(a.faults, d.outages(readOnly("on"), readOnly("off"))...)
	return a
}
