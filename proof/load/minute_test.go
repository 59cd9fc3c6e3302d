package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
	"github.com/snowlease/snowlease/snowflake"
)

// A minute is what a worker makes of the ids of its layout, in each second.
type minute struct {
	store, layout string
	share         [seconds]float64 // from the first id on; a second without any is 0
	expired, away int              // calls that got ErrLeaseExpired, before the failover and after
}

const (
	deleteAt  = 60
	promoteAt = 100
	seconds   = 140
)

// A place is a store that loses its records, and fails over unless it is a library.
type place struct {
	center         lease.Center
	wipe, failover func(context.Context) error
}

// BenchmarkFirstMinute opens a worker for each of four layouts on each store, in a new namespace,
// and takes all ids that it gets. It deletes all records after a minute, and later ends the
// primary and promotes a replica.
func BenchmarkFirstMinute(b *testing.B) {
	places := map[string]place{
		"Redis": minuteRedis(b), "MariaDB": minuteMariaDB(b), "PostgreSQL": minutePostgres(b), "SQLite": minuteSQLite(b), "etcd": minuteEtcd(b),
	}
	var all []*minute
	var opened, wg sync.WaitGroup
	for name, p := range places {
		for layout, l := range map[string]snowflake.Layout{
			"jssafe": snowflake.JSSafe(), "yitter": snowflake.Yitter(), "twitter": snowflake.Twitter(), "4 bits": {SequenceBits: 4, TimeBits: 41},
		} {
			m := &minute{store: name, layout: layout}
			all = append(all, m)
			opened.Add(1)
			wg.Go(func() {
				if err := m.run(b.Context(), p.center, l, opened.Done); err != nil {
					b.Error(name, layout, err)
				}
			})
		}
	}
	opened.Wait()
	for name, p := range places {
		for at, event := range map[time.Duration]func(context.Context) error{deleteAt: p.wipe, promoteAt: p.failover} {
			wg.Go(func() {
				if time.Sleep(at * time.Second); event == nil {
					return
				}
				if err := event(b.Context()); err != nil {
					b.Error(name, at, err)
				}
			})
		}
	}
	wg.Wait()
	slices.SortFunc(all, func(x, y *minute) int { return strings.Compare(x.store+x.layout, y.store+y.layout) })
	var out strings.Builder
	out.WriteString("| store | layout | least of its ids in a second, from the third on | seconds of ids lost with the records | least after that | by a failover | least after that | `ErrLeaseExpired` | by the failover |\n|---|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, m := range all {
		_, first := m.after(0, deleteAt)
		lost, second := m.after(deleteAt, promoteAt)
		away, third := m.after(promoteAt, seconds)
		fmt.Fprintf(&out, "| %s | `%s` | %.1f %% | %.1f | %.1f %% | %.1f | %.1f %% | %d | %d |\n", m.store, m.layout,
			first, lost, second, away, third, m.expired, m.away)
	}
	b.Log("\n" + out.String())
	if *minutes != "" {
		require.NoError(b, os.WriteFile(*minutes, []byte(draw(all)), 0o644))
	}
}

// run takes all ids of a worker for as many seconds as there are shares.
func (m *minute) run(ctx context.Context, center lease.Center, l snowflake.Layout, opened func()) error {
	w, err := snowlease.Open(ctx, center, snowlease.Config{Namespace: strings.ReplaceAll(m.layout, " ", "-"), Layout: l})
	opened()
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	full := float64(l.WithDefaults().PerTick()) * float64(time.Second/l.WithDefaults().TimeUnit)
	ids := make([]int64, max(1, l.PerTick()/4))
	for began := time.Now(); ; {
		within, cancel := context.WithTimeout(ctx, time.Second)
		err := w.NextIDs(within, ids)
		cancel()
		second := int(time.Since(began) / time.Second)
		switch {
		case second >= seconds:
			return nil
		case errors.Is(err, snowlease.ErrLeaseExpired) && second < promoteAt-1:
			m.expired++
		case errors.Is(err, snowlease.ErrLeaseExpired):
			m.away++
		case err == nil:
			m.share[second] += float64(len(ids)) / full
		}
	}
}

// after returns how many seconds' ids an event cost, and the least percentage of a second from the
// third on after that, up to the next event.
func (m *minute) after(event, next int) (lost, least float64) {
	few := func(s float64) bool { return s < 0.5 }
	from := max(0, event-1) // a worker that opened last has had a little less of a minute
	again := from
	if away := slices.IndexFunc(m.share[from:from+10], few); event > 0 && away >= 0 {
		for again += away; few(m.share[again]) && again < next-4; again++ {
		}
		for _, s := range m.share[from : again+1] {
			lost += max(0, 1-s)
		}
		again++ // it began without ids
	}
	return lost, 100 * slices.Min(m.share[again+2:next-1])
}

// draw returns a picture in SVG: for each store the share of the worker that made the least in
// each second. Its colors can be read on light and on dark pages.
func draw(all []*minute) string {
	const left, wide, high, top, apart = 80, 4, 36, 24, 46
	var bars, texts strings.Builder
	text := func(x, y int, anchor, format string, args ...any) {
		fmt.Fprintf(&texts, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, fmt.Sprintf(format, args...))
	}
	bottom := top + high
	for ; len(all) > 0; bottom += apart {
		store, least := all[0].store, all[0].share
		for ; len(all) > 0 && all[0].store == store; all = all[1:] {
			for s, share := range all[0].share {
				least[s] = min(least[s], share, 1)
			}
		}
		text(left-8, bottom-2, "end", "%s", store)
		fmt.Fprintf(&bars, "<path transform=\"translate(%d %d) scale(%d -%d)\" d=\"M0 0", left, bottom, wide, high)
		for s, share := range least {
			fmt.Fprintf(&bars, "V%.3gH%d", share, s+1)
		}
		bars.WriteString("V0z\"/>\n")
	}
	for s := 0; s <= seconds; s += 20 {
		text(left+wide*s, bottom-apart+14, "middle", "%d s", s)
	}
	text(left, top-8, "start", "first start (a full bar is 100 %%)")
	text(left+wide*deleteAt, top-8, "start", "records deleted")
	text(left+wide*promoteAt, top-8, "start", "failover")
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"+
		"<g fill=\"#4c8dd6\">\n%s</g>\n<g fill=\"#6e7781\">\n%s</g>\n</svg>\n", left+wide*seconds+20, bottom-apart+20, bars.String(), texts.String())
}

// behind starts a primary and a replica. What dials gets to the one, and after a failover to the
// other.
func behind(t testing.TB, start func(testing.TB, ...string) *testserver.Server, follow func(testing.TB, *testserver.Server, ...string) *testserver.Server) (
	dial func(context.Context, string, string) (net.Conn, error), failover func(context.Context) error,
) {
	primary := start(t)
	replica := follow(t, primary)
	var at atomic.Pointer[testserver.Server]
	at.Store(primary)
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", at.Load().Addr())
		}, func(context.Context) error {
			primary.Kill()
			replica.Promote()
			at.Store(replica)
			return nil
		}
}

func minuteRedis(t testing.TB) place {
	dial, failover := behind(t, testserver.NewRedis, testserver.NewRedisReplica)
	c := redis.NewClient(&redis.Options{Dialer: dial, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	center, err := redisseq.New(c)
	require.NoError(t, err)
	return place{center, func(ctx context.Context) error { return c.FlushAll(ctx).Err() }, failover}
}

func minuteMariaDB(t testing.TB) place {
	dial, failover := behind(t, testserver.NewMariaDBPrimary, testserver.NewMariaDBReplica)
	mysql.RegisterDialContext("primary", func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx, "", "") })
	return minuteSQL(t, "mysql", "snowlease:snowlease@primary(any)/test?parseTime=true", failover)
}

// minutePostgres is a single server that comes back as a standby and is promoted.
func minutePostgres(t testing.TB) place {
	s := testserver.NewPostgres(t, "-c", "restore_command=/bin/false", "-c", "recovery_target_timeline=current", "-c", "hot_standby=on")
	return minuteSQL(t, "pgx", s.DSN(), func(ctx context.Context) error {
		s.Stop()
		err := os.WriteFile(filepath.Join(s.Dir(), "standby.signal"), nil, 0o644)
		s.Start()
		var promoted bool
		return errors.Join(err, ask(ctx, "pgx", s, "SELECT pg_promote()", &promoted))
	})
}

func minuteSQLite(t testing.TB) place {
	return minuteSQL(t, "sqlite", filepath.Join(t.TempDir(), "ids.db")+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)", nil)
}

func minuteSQL(t testing.TB, driver, dsn string, failover func(context.Context) error) place {
	center, err := dbseq.Open(driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = center.Close() })
	return place{center, func(ctx context.Context) error { return wipeSQL(ctx, driver, dsn) }, failover}
}

func minuteEtcd(t testing.TB) place {
	s := testserver.NewEtcd(t, 3)
	center, closer := connectEtcd(t, s.URLs()...)
	t.Cleanup(func() { _ = closer.Close() })
	return place{center, func(ctx context.Context) error { return wipeEtcd(ctx, s.URLs()...) }, func(context.Context) error {
		s.Leader().Kill()
		return nil
	}}
}
