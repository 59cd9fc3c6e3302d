package chaos

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/testserver"
)

var (
	gMode  = flag.String("g.mode", "one", "one, several")
	gNever = flag.Bool("g.never", false, "")
	gFlush = flag.String("g.flush", "1", "")
	gOnly  = flag.String("g.only", "", "")
)

type galera struct {
	*arena
	*testserver.Galera
	ats    []string // where each route began
	writer int
}

func TestGalera(t *testing.T) {
	r := newResults(t)
	g := newGalera(t)
	s := newStage(t, g.arena, fmt.Sprintf("galera %s never=%v flush=%s", *gMode, *gNever, *gFlush), r.seed)
	if *gOnly != "" {
		s.only = strings.Split(*gOnly, ",")
		for _, f := range append(s.network.faults(), newCrew("", 1, 1, order{}, nil, 0).faults(nil)...) {
			s.only = append(s.only, f.name)
		}
	}
	v := s.run()
	r.add(s, v)
	t.Logf("sound %v %v", v.sound(), v.described)
}

func newGalera(t *testing.T) *galera {
	c := testserver.NewGalera(t, 3, "--innodb-flush-log-at-trx-commit="+*gFlush)
	n := c.Nodes
	g := &galera{Galera: c}
	for _, s := range n {
		g.ats = append(g.ats, s.Addr())
	}
	at := g.ats
	nw, err := newNetwork(groups, at...)
	require.NoError(t, err)
	reach := func(addr string) store {
		return store{Kind: mariadb, DSN: fmt.Sprintf("snowlease:snowlease@tcp(%s)/test?parseTime=true&timeout=2s", addr), Never: *gNever}
	}
	one := *gMode == "one"
	g.arena = &arena{
		network: nw, share: 100, clock: &clock{servers: func() []*testserver.Server { return n }},
		store: func(group int) store {
			if one {
				return reach(nw.routes(group)[at[0]])
			}
			return reach(nw.routes(group)[at[group%3]])
		},
		direct: func() store { return reach(n[0].Addr()) },
	}
	next := func() int { return (g.writer + 1) % 3 }
	lead := func(to int) error {
		g.writer = to
		if one {
			var err error
			for range 50 { // a fault of the network may stop or start a proxy
				if err = g.lead(at[0], n[to].Addr()); err == nil {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			return err
		}
		return nil
	}
	some := func(random *rand.Rand, d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
	add := func(name string, f func(ctx context.Context, random *rand.Rand) error) {
		g.faults = append(g.faults, fault{name, func(ctx context.Context, random *rand.Rand) error {
			err := f(ctx, random)
			return errors.Join(err, g.whole(context.WithoutCancel(ctx)))
		}})
	}
	add("writer killed; another leads; it comes back", func(ctx context.Context, random *rand.Rand) error {
		w := g.writer
		n[w].Kill()
		pause(ctx, some(random, 2*time.Second))
		err := lead(next())
		pause(ctx, some(random, 2*ttl))
		n[w].Start()
		return err
	})
	add("writer killed; another leads; it comes back and leads again", func(ctx context.Context, random *rand.Rand) error {
		w := g.writer
		n[w].Kill()
		err := lead(next())
		pause(ctx, some(random, 1*time.Second))
		n[w].Start()
		return errors.Join(err, lead(w))
	})
	add("writer stopped; another leads; it goes on", func(ctx context.Context, random *rand.Rand) error {
		w := g.writer
		n[w].Pause()
		pause(ctx, some(random, 2*time.Second))
		err := lead(next())
		pause(ctx, some(random, 2*ttl))
		n[w].Resume()
		return err
	})
	add("writer stopped; it goes on while it still leads; then another", func(ctx context.Context, random *rand.Rand) error {
		w := g.writer
		n[w].Pause()
		pause(ctx, 3*time.Second+some(random, ttl))
		n[w].Resume()
		pause(ctx, some(random, 300*time.Millisecond))
		return lead(next())
	})
	isolate := func(s *testserver.Server, v int) error {
		return g.exec(s, fmt.Sprintf("SET GLOBAL wsrep_provider_options='gmcast.isolate=%d'", v))
	}
	add("writer isolated; another leads; it joins again", func(ctx context.Context, random *rand.Rand) error {
		w := g.writer
		err := isolate(n[w], 1)
		pause(ctx, some(random, 3*time.Second))
		err = errors.Join(err, lead(next()))
		pause(ctx, some(random, 2*ttl))
		return errors.Join(err, isolate(n[w], 0))
	})
	add("writer isolated; another leads for a moment; it leads again", func(ctx context.Context, random *rand.Rand) error {
		w := g.writer
		err := isolate(n[w], 1)
		err = errors.Join(err, lead(next()))
		pause(ctx, some(random, 2*time.Second))
		err = errors.Join(err, isolate(n[w], 0))
		return errors.Join(err, lead(w))
	})
	add("the others isolated: no primary component", func(ctx context.Context, random *rand.Rand) error {
		a, b := n[(g.writer+1)%3], n[(g.writer+2)%3]
		err := errors.Join(isolate(a, 1), isolate(b, 1))
		pause(ctx, 2*time.Second+some(random, ttl))
		return errors.Join(err, isolate(a, 0), isolate(b, 0))
	})
	add("another killed, wiped, back by SST; it leads", func(ctx context.Context, random *rand.Rand) error {
		s := n[next()]
		s.Kill()
		s.Wipe()
		pause(ctx, some(random, time.Second))
		s.Start()
		return lead(next())
	})
	add("writer killed, wiped, another leads, back by SST and leads again", func(ctx context.Context, random *rand.Rand) error {
		w := g.writer
		n[w].Kill()
		n[w].Wipe()
		err := lead(next())
		pause(ctx, some(random, time.Second))
		n[w].Start()
		return errors.Join(err, lead(w))
	})
	add("all killed; the same leads", func(ctx context.Context, random *rand.Rand) error {
		c.Kill()
		g.Restart()
		return nil
	})
	add("all killed; another leads", func(ctx context.Context, random *rand.Rand) error {
		c.Kill()
		g.Restart()
		return lead(next())
	})
	if !one {
		g.faults = slices.DeleteFunc(g.faults, func(f fault) bool { return strings.Contains(f.name, "leads again") })
	}
	return g
}

func (g *galera) exec(s *testserver.Server, statement string) error {
	db, err := sql.Open("mysql", s.DSN())
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(statement)
	return err
}

// whole waits until all nodes are in the cluster.
func (g *galera) whole(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	last := ""
	for ctx.Err() == nil {
		ok := true
		last = ""
		for _, s := range g.Nodes {
			db, err := sql.Open("mysql", s.DSN())
			if err != nil {
				return err
			}
			var name, state, size string
			err = errors.Join(db.QueryRowContext(ctx, "SHOW STATUS LIKE 'wsrep_local_state_comment'").Scan(&name, &state),
				db.QueryRowContext(ctx, "SHOW STATUS LIKE 'wsrep_cluster_size'").Scan(&name, &size), db.Close())
			last += fmt.Sprintf(" %s %s %s %v;", s.Addr(), state, size, err)
			ok = ok && err == nil && state == "Synced" && size == "3"
		}
		if ok {
			return nil
		}
		pause(ctx, 50*time.Millisecond)
	}
	return fmt.Errorf("the cluster is not whole: %s", last)
}
