package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/snowlease/snowlease/internal/test/testserver"
)

// newGalera is a Galera cluster in which one node takes the writes. Its nodes flush
// their logs late.
func newGalera(t *testing.T) *arena {
	c := testserver.NewGalera(t, 3, "--innodb-flush-log-at-trx-commit=0")
	writer := c.Nodes[0]
	at := writer.Addr()
	dsn := fmt.Sprintf("snowlease:snowlease@tcp(%s)/test?parseTime=true&timeout=2s", at)
	d := newDatabase(t, mysqlKind, "mysql", dsn, writer, func() []*testserver.Server { return c.Nodes })
	lead := func(s *testserver.Server) (err error) {
		for range 50 { // network faults stop and start proxies
			if err = d.lead(at, s.Addr()); err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		d.server = s
		return err
	}
	isolate := func(ctx context.Context, on int, nodes ...*testserver.Server) error {
		return onEach(nodes, func(s *testserver.Server) error {
			return (&database{server: s, driver: "mysql"}).exec(ctx, fmt.Sprintf("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=%d'", on))
		})
	}
	// change lets the writer fail, makes another node the writer, and returns the
	// former one, which may become the writer again at once.
	change := func(name string, fail, back func(ctx context.Context, s *testserver.Server, random *rand.Rand) error) {
		d.faults = append(d.faults, fault{name, func(ctx context.Context, random *rand.Rand) error {
			ctx = context.WithoutCancel(ctx)
			former, i := d.server, random.IntN(2)
			err := fail(ctx, former, random)
			pause(ctx, time.Duration(random.Int64N(int64(ttl))))
			others := others(c.Nodes, former)
			err = errors.Join(err, lead(others[i]))
			d.back = time.Now()
			pause(ctx, time.Duration(random.Int64N(int64(ttl))))
			err = errors.Join(err, back(ctx, former, random))
			if random.IntN(2) == 0 {
				err = errors.Join(err, lead(former))
			}
			c.Await()
			return err
		}})
	}
	change("writer killed, at times wiped", func(_ context.Context, s *testserver.Server, random *rand.Rand) error {
		s.Kill()
		if random.IntN(2) == 0 {
			s.Wipe()
		}
		return nil
	}, func(_ context.Context, s *testserver.Server, _ *rand.Rand) error {
		c.Heal(others(c.Nodes, s))
		s.Start()
		return nil
	})
	change("writer stopped and continued", func(_ context.Context, s *testserver.Server, _ *rand.Rand) error {
		s.Pause()
		return nil
	}, func(_ context.Context, s *testserver.Server, _ *rand.Rand) error {
		s.Resume()
		return nil
	})
	change("writer cut off from the others", func(ctx context.Context, s *testserver.Server, _ *rand.Rand) error {
		return isolate(ctx, 1, s)
	}, func(ctx context.Context, s *testserver.Server, _ *rand.Rand) error {
		return isolate(ctx, 0, s)
	})
	change("all cut off from one another", func(ctx context.Context, _ *testserver.Server, _ *rand.Rand) error {
		return isolate(ctx, 1, c.Nodes...)
	}, func(ctx context.Context, _ *testserver.Server, _ *rand.Rand) error {
		return isolate(ctx, 0, c.Nodes...)
	})
	d.faults = append(d.faults, fault{"all nodes killed at once; another is written to", func(_ context.Context, random *rand.Rand) error {
		c.Kill()
		err := lead(others(c.Nodes, d.server)[random.IntN(2)])
		c.Restart()
		return err
	}})
	return d.arena
}

// others returns all servers but one.
func others(all []*testserver.Server, one *testserver.Server) (others []*testserver.Server) {
	for _, s := range all {
		if s != one {
			others = append(others, s)
		}
	}
	return others
}
