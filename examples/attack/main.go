//go:build unix

// Attack looks for duplicate ids in your own store. Several processes make ids in one
// namespace while the program pauses, kills and stops them and deletes the namespace's records.
// Then it compares all ids, and exits with 1 if one was issued twice.
//
//	go run ./examples/attack                                          # a SQLite file
//	go run ./examples/attack -for 10m -redis redis://:secret@host:6379
//	go run ./examples/attack -driver mysql -dsn 'user:secret@tcp(host:3306)/test'
//	go run ./examples/attack -driver pgx -dsn 'postgres://user:secret@host/test'
//
// It creates a namespace with a random name, and touches no other. To attack in another way, add a
// function to harms.
package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

const (
	ttl = 2 * time.Second
	// orderVar holds the order of a process that makes ids. Other users could read arguments,
	// and the passwords in them.
	orderVar = "ATTACK_ORDER"
)

// An order tells a process where to take ids, and into which file to write them.
type order struct {
	Store     store
	Namespace string
	IDs       string
}

// config has a layout with few ids a millisecond, so that processes with the same worker id
// and time soon issue the same id.
func (o order) config() idworker.Config {
	cfg := idworker.Config{Namespace: o.Namespace, Layout: snowflake.Layout{WorkerBits: 5, SequenceBits: 3}.WithDefaults()}
	cfg.Lease.TTL, cfg.Lease.MaxTTL, cfg.Lease.Renew = ttl, ttl, "@every 1s"
	cfg.Store.Skew = ttl / 10
	return cfg
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if text := os.Getenv(orderVar); text != "" {
		var o order
		if err = json.Unmarshal([]byte(text), &o); err == nil {
			err = o.work(ctx)
		}
	} else {
		err = run(ctx, os.Args[1:], os.Stdout, harms)
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(1)
	}
}

// work makes ids until the context or the attacking process ends.
func (o order) work(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	center, closer, err := o.Store.open()
	if err != nil {
		return err
	}
	file, err := os.Create(o.IDs)
	if err != nil {
		return errors.Join(err, closer.Close())
	}
	defer func() { err = errors.Join(err, file.Close(), closer.Close()) }()
	for ctx.Err() == nil {
		w, err := idworker.Open(ctx, o.config(), idworker.Clients{Center: center})
		if err != nil {
			time.Sleep(ttl / 20)
			continue
		}
		for ids := [16]int64{}; w.NextIDs(ctx, ids[:]) == nil; { // it waits while the lease is lost
			if err := binary.Write(file, binary.LittleEndian, ids[:]); err != nil {
				return err
			}
		}
		_ = w.Close() // otherwise the lease ends by itself
	}
	return nil
}

// An attack runs processes, and pauses some.
type attack struct {
	order order
	dir   string
	procs []*exec.Cmd
	made  int
	wake  sync.WaitGroup // of paused processes
}

// A harm must not cause a duplicate id.
type harm struct {
	name string
	do   func(ctx context.Context, a *attack) error
}

var harms = []harm{
	{"pause a process for up to three leases", pause},
	{"kill a process", func(ctx context.Context, a *attack) error { return a.replace(ctx, syscall.SIGKILL) }},
	{"stop a process", func(ctx context.Context, a *attack) error { return a.replace(ctx, syscall.SIGTERM) }},
	{"delete some records", func(ctx context.Context, a *attack) error {
		return a.order.Store.forget(ctx, a.order.Namespace, mathrand.IntN(2))
	}},
	{"delete all records", func(ctx context.Context, a *attack) error {
		return a.order.Store.forget(ctx, a.order.Namespace, everything)
	}},
}

func pause(ctx context.Context, a *attack) error {
	p := a.procs[mathrand.IntN(len(a.procs))].Process
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	a.wake.Go(func() {
		select {
		case <-ctx.Done():
		case <-time.After(mathrand.N(3 * ttl)):
		}
		_ = p.Signal(syscall.SIGCONT) // it may have been killed
	})
	return nil
}

// replace ends a process, and starts another one in its place.
func (a *attack) replace(ctx context.Context, sig syscall.Signal) error {
	i := mathrand.IntN(len(a.procs))
	old := a.procs[i]
	if err := errors.Join(old.Process.Signal(sig), old.Process.Signal(syscall.SIGCONT)); err != nil {
		return err
	}
	_ = old.Wait()
	p, err := a.start(ctx)
	a.procs[i] = p
	return err
}

func (a *attack) start(ctx context.Context) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	o := a.order
	o.IDs = filepath.Join(a.dir, fmt.Sprint(a.made, ".ids"))
	a.made++
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	p := exec.CommandContext(context.WithoutCancel(ctx), exe)
	p.Env, p.Stderr = append(os.Environ(), orderVar+"="+string(text)), os.Stderr
	if _, err := p.StdinPipe(); err != nil { // its end tells the process that this one has ended
		return nil, err
	}
	return p, p.Start()
}

// claim creates the namespace, which must not exist.
func claim(ctx context.Context, center lease.Center, cfg idworker.Config) error {
	if _, err := center.Extras().Operator.Record(ctx, cfg.Namespace); !errors.Is(err, lease.ErrUnknown) {
		return errors.Join(fmt.Errorf("namespace %q is not mine: something is on record of it, or it cannot be seen", cfg.Namespace), err)
	}
	req, err := cfg.Request() //nolint:contextcheck // it reads the configuration
	if err != nil {
		return err
	}
	return center.Extras().Init(ctx, req)
}

func run(ctx context.Context, args []string, out io.Writer, harms []harm) (err error) {
	a := &attack{}
	flags := flag.NewFlagSet("attack", flag.ContinueOnError)
	long := flags.Duration("for", time.Minute, "how long")
	every := flags.Duration("every", time.Second, "the longest time from one harm to the next")
	processes := flags.Int("processes", 6, "how many make ids, at most 32")
	a.order.Store.flags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("argument %q is unknown: name the store by a flag: see -help", flags.Arg(0))
	case *processes < 1 || *processes > 32:
		return fmt.Errorf("-processes %d is not 1 to 32", *processes)
	case *every <= 0:
		return fmt.Errorf("-every %v is not above 0", *every)
	}
	if a.dir, err = os.MkdirTemp("", "attack-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(a.dir)) }()
	if a.order.Store == (store{}) {
		a.order.Store = store{Driver: "sqlite", DSN: filepath.Join(a.dir, "attack.db")}
	}
	a.order.Namespace = "attack-" + strings.ToLower(rand.Text())
	center, closer, err := a.order.Store.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()
	if err := claim(ctx, center, a.order.config()); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s, namespace %s, %d processes, %v\n", lease.Name(center), a.order.Namespace, *processes, *long)

	err = a.harm(ctx, *processes, *long, *every, harms, out)
	err = errors.Join(err, a.order.Store.forget(context.WithoutCancel(ctx), a.order.Namespace, everything))
	if err != nil {
		return err
	}
	return verdict(a.dir, a.order.config().Layout, out)
}

// harm starts processes, harms them for a time, and ends them.
func (a *attack) harm(ctx context.Context, processes int, long, every time.Duration, harms []harm, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer func() {
		cancel()
		a.wake.Wait()
		for _, p := range a.procs {
			_ = p.Process.Signal(syscall.SIGTERM) // of those that run
			_ = p.Wait()
		}
	}()
	for range processes {
		p, err := a.start(ctx)
		if err != nil {
			return err
		}
		a.procs = append(a.procs, p)
	}
	done := map[string]int{}
	for {
		select {
		case <-ctx.Done():
			for _, h := range harms {
				fmt.Fprintf(out, "%6d times: %s\n", done[h.name], h.name)
			}
			return nil
		case <-time.After(mathrand.N(every)):
		}
		h := harms[mathrand.IntN(len(harms))]
		if err := h.do(ctx, a); err != nil && ctx.Err() == nil {
			return fmt.Errorf("%s: %w", h.name, err)
		}
		done[h.name]++
	}
}

// verdict compares the ids of all files.
func verdict(dir string, layout snowflake.Layout, out io.Writer) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.ids"))
	if err != nil {
		return err
	}
	var ids []int64
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for ; len(raw) >= 8; raw = raw[8:] { // a kill may have cut the last one
			ids = append(ids, int64(binary.LittleEndian.Uint64(raw)))
		}
	}
	slices.Sort(ids)
	twice := 0
	for i := 1; i < len(ids); i++ {
		if ids[i] != ids[i-1] {
			continue
		}
		if twice++; twice <= 10 {
			parts, err := layout.Decode(ids[i])
			fmt.Fprintln(out, ids[i], parts, err)
		}
	}
	fmt.Fprintf(out, "%d ids of %d processes, %d issued twice\n", len(ids), len(files), twice)
	if twice > 0 {
		return fmt.Errorf("%d ids were issued twice", twice)
	}
	if len(ids) == 0 {
		return errors.New("no process made an id")
	}
	return nil
}
