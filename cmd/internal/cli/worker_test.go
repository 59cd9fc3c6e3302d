package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// After init, a namespace lends at once. workers shows the holders, release takes a worker id
// back without lowering its mark, quarantine makes the namespace lend above everything that may
// have been forgotten, and retire ends it. Without a yes, nothing changes.
func TestOperations(t *testing.T) {
	t.Parallel()
	const pinned = "layout={epoch=1577808000000 unit=1ms bits=41/5/0/17} pool=32 max_ttl=30s skew=2s"
	onStores(t, func(s scene) {
		for _, line := range []string{"init", "no | init"} { // the first as in a script
			printed := s.exits(exitNo, line, `Nothing is on record for namespace "orders". If the records were lost, init leads to duplicate ids.`)
			require.Contains(s, printed, "not confirmed, nothing changed (--yes confirms without asking)")
			s.exits(exitFailed, "workers", "nothing is on record for the namespace", ": check the spelling of orders, --prefix and --store")
		}
		s.ok("yes | init", `created namespace "orders" at `, pinned+" (from the flags and the defaults)\n")
		printed := s.exits(exitNo, "init", "exists already", "nothing changed")
		require.NotContains(s, printed, "Type yes")
		s.exits(exitNo, "init --yes --preset=wide", "nothing changed: it stays pinned to "+pinned+": use another namespace for layout=")

		require.Regexp(s, `^(\d{18}\n){3}$`, s.ok("next -n 3"))
		c := s.center()
		g := s.lend(c)
		require.Less(s, g.Floor, g.Now, "exact times")
		printed = s.ok("workers", "1 of 32 worker ids are lent", "orders@host:?[1m7")
		require.NotContains(s, printed, "free")
		var v workerView
		require.NoError(s, json.Unmarshal([]byte(s.ok("workers --all --json")), &v))
		require.Len(s, v.Workers, 32)
		require.Equal(s, workerLine{
			Worker: g.Worker, State: "lent", Holder: "orders@host:?[1m7", Since: at(g.Since), Expires: at(g.Ceiling), Mark: at(g.Ceiling), Token: g.Token,
		}, v.Workers[g.Worker])

		release := fmt.Sprintf("release --worker=%d --token=%d", g.Worker, g.Token)
		s.exits(exitNo, "no | "+release, "nothing changed")
		s.exits(exitNo, fmt.Sprintf("release --yes --token=1 --worker=%d", g.Worker), "is not held under token 1")
		s.exits(exitNo, "release --yes --token=1 --worker=99")
		s.ok("yes | "+release, "Take worker", "it can be lent again after "+at(g.Ceiling))
		s.exits(exitNo, "yes | "+release)
		s.ok("workers", "ahead")

		s.exits(exitNo, "quarantine", "not confirmed")
		_, until, _ := strings.Cut(strings.TrimSpace(s.ok("quarantine --yes --reason='backup restored'")), " lends only above ")
		end, err := time.Parse(stamp, until)
		require.NoError(s, err)
		require.GreaterOrEqual(s, end.UnixMilli(), g.Now+32_000)
		s.ok("workers", "\npossible loss of records: operator: backup restored\nids under newly lent worker ids carry times up to ", " ahead until "+until+"; with exact_times, none is lent until then\n")

		s.exits(exitNo, "retire", "not confirmed")
		s.ok("retire --yes --reason='moved to orders-2'", "is retired: moved to orders-2")
		s.ok("retire --yes", "is retired: moved to orders-2")
		s.ok("workers", "retired: moved to orders-2\n")
		s.exits(exitNo, "doctor", "retired: moved to orders-2")
		s.exits(exitNo, "init --yes --preset=wide", "nothing changed: lease: the namespace is retired: moved to orders-2")
	})
}

// takeover hands worker ids to a namespace with more of them, first a part, then all. It fails while one
// is in use, and for a retired namespace.
func TestTakeover(t *testing.T) {
	t.Parallel()
	onStores(t, func(s scene) {
		s.ok("init --yes --skew=0s")
		c, to := s.center(), " --namespace=orders --to-namespace=orders-2"
		s.exits(exitFailed, "takeover --yes --to-namespace=orders-2", "orders-2")
		s.numbers.ok("init --yes --namespace=orders-2 --bits=41/10/0/12")
		s.exits(exitNo, "takeover --check --to-namespace=orders-2 --workers=0-15", "the old worker ids 0-15 have the bits of the new worker ids 0-511")
		s.ok("takeover --check --to-namespace=orders-2 --workers=0-15 --to-workers=512-1023", "may run side by side")
		for _, wrong := range []string{"1,3", "31-32", "x"} {
			s.exits(exitFailed, "takeover --to-namespace=orders-2 --yes --workers="+wrong)
		}
		s.exits(exitNo, "no | takeover --to-namespace=orders-2", `Hand over worker ids of namespace "orders" (all, which retires it) to "orders-2"?`)
		g := s.lend(c)
		part := fmt.Sprintf("takeover --yes --workers=%d --to-workers=512-515", g.Worker) + to
		s.numbers.exits(exitNo, part, fmt.Sprintf("worker id %d of the old side is lent to", g.Worker), "(nothing was changed)")
		require.NoError(s, c.Release(s.Context(), g, g.Floor))
		s.numbers.ok(part, `namespace "orders-2" at `, `has taken over, with worker ids 512-515; namespace "orders" lends none of the old ones until `)
		s.numbers.exits(exitNo, part, "is lent to")

		s.numbers.ok("init --yes --skew=100ms --bits=41/3/0/19 --namespace=bills")
		s.numbers.ok("init --yes --namespace=bills-2 --bits=41/4/0/18")
		const all = "takeover --yes --namespace=bills --to-namespace=bills-2"
		s.numbers.ok(all, `namespace "bills" is retired`)
		s.numbers.ok("workers --namespace=bills", "retired: its worker ids were taken over by namespace \"bills-2\"")
		s.numbers.exits(exitFailed, all, `taken over by namespace "bills-2"`, "start no new process there before its center's clock is past ")
		s.numbers.exits(exitFailed, all+" --check", "retired")
		s.numbers.exits(exitFailed, all+"-3")
		s.numbers.exits(exitFailed, "takeover --yes --namespace=orders-2 --to-namespace=bills", "bills")
	})
}

// A sequence of numbers is created, advanced above the numbers in use, and never lowered. A SQL
// database lists its sequences, of a series with the period and its number.
func TestSegments(t *testing.T) {
	t.Parallel()
	onStores(t, func(sc scene) {
		s, isSQL := sc.numbers, !strings.HasPrefix(sc.store.store, "redis:")
		create, advance := "segment create --namespace=shop --name=bills ", "segment advance --namespace=shop --name=bills "
		s.ok(create+"--start=10", "created 10\n")
		s.exits(exitNo, create)
		s.exits(exitNo, advance+"--above=5000", `The greatest recorded number of "shop/bills" is 9. Continue above 5000?`, "First stop the processes that use the sequence, or leave room: twice max_step for each.")
		s.ok("yes | "+advance+"--above=5000", `"shop/bills" is 9.`, "continues above 5000\n")
		s.ok("yes | "+advance+"--above=10", "is 5000. Continue above 5000?", "continues above 5000\n")
		s.ok(advance+"--above=10 --yes", "continues above 5000\n")
		s.exits(exitFailed, "segment advance --namespace=shop --yes --above=5000 --period=none --name=bills.none", "the name is not in the store")

		create, advance = "segment create --namespace=shop --name=bills.acme --period=2026-11-01 ", "segment advance --namespace=shop --yes --name=bills.acme --period=2026-11-01 "
		if !isSQL {
			s.exits(exitFailed, create+"--start=43", "is none: name the database with --store")
			s.exits(exitFailed, "segment advance --namespace=shop --yes --above=42 --period=none --name=bills.acme", "the name is not in the store")
			s.exits(exitFailed, "segment list", "is none: name the database with --store")
			return
		}
		list := func(number int, period, name string) string {
			return fmt.Sprintf("%19s  %-10s  %s\n%19d  %-10s  %s\n", "NUMBER", "PERIOD", "NAME", number, period, name)
		}
		require.NoError(sc, sc.center().Segments.Create(sc.Context(), "/period.shop.bills", 1))
		require.Equal(sc, list(5000, "", "shop/bills"), s.ok("segment list"))
		s.ok("segment list --namespace=shop-staging", "no sequences at ")
		s.ok("segment list --namespace=shop --series=bills", "no sequences at ")
		s.ok(create+"--start=31", "created 31 in the period from 2026-11-01 on")
		s.exits(exitUsage, advance+"--above=202611010000000041")
		s.ok(advance+"--above=42", "continues above 42 in the period from 2026-11-01 on")
		s.ok("segment advance --namespace=shop --yes --name=bills.acme --period=none --above=202611010000000041", "continues above 202611010000000042\n")
		require.Equal(sc, list(42, "2026-11-01", "shop/bills.acme"), s.ok("segment list --namespace=shop --series=bills"))
		s.ok("segment create --namespace=shop --name=bills. --period=none --start=501", "created 501")
	})
}

// A first start leaves a reason that workers and doctor put in the past: by then, records
// exist.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	onStores(t, func(s scene) {
		_, err := s.center().Acquire(s.Context(), s.request())
		require.ErrorAs(s, err, new(*lease.QuarantineError))
		const want = "possible loss of records: a process found nothing on record for this namespace (a first start looks the same)"
		s.ok("workers", "\n"+want+"\nids under newly lent")
		s.ok("doctor", "note   quarantine     "+want+"; ids under newly lent")
	}, "redis", "sqlite")
}

// The doctor and workers report times that no member can have written: a mark a century ahead,
// until its record is deleted, or a true one after the store's clock was set back.
func TestLateTimes(t *testing.T) {
	t.Parallel()
	onStores(t, func(s scene) {
		s.ok("init --yes")
		c := s.center()
		g := s.lend(c)
		s.ok("doctor", "ok     times ")
		far := g
		far.Ceiling += (100 * 365 * 24 * time.Hour).Milliseconds()
		_, err := c.Renew(s.Context(), far)
		require.NoError(s, err)
		late := fmt.Sprintf("worker ids (1: %d): recorded times reach %s, but the store's clock is at ", g.Worker, at(far.Ceiling))
		s.ok("workers", "\n"+late)
		printed := s.exits(exitNo, "doctor", "fault  times          "+late, "or is behind now", "compare the clock with another host's", "docs/operations.md#late-times")
		_, clock, _ := strings.Cut(printed, late)
		now, err := time.Parse(stamp, clock[:len(stamp)-len("07:00")])
		require.NoError(s, err)
		require.WithinDuration(s, time.Now(), now, time.Minute)
		if !strings.HasPrefix(s.store.store, "sqlite:") {
			return
		}
		s.sql("UPDATE snowlease_slot SET expires_ms = 0, hwm_ms = 0")
		s.sql("UPDATE snowlease_meta SET quarantine_ms = 32503680000000, reason = 'x' WHERE ns = 'orders'")
		printed = s.exits(exitNo, "doctor", "the quarantine: recorded times reach 3000-01-01")
		require.NotContains(s, printed, "it ends on its own")
		s.sql("UPDATE snowlease_slot SET expires_ms = -1")
		s.exits(exitNo, "doctor", "fault  workers", "expires of worker id 0 is -1") // no process can start by it
	}, "redis", "sqlite")
}

func TestStateOf(t *testing.T) {
	t.Parallel()
	require.Equal(t, "lent", stateOf(lease.Slot{Now: 5, Expires: 5}))
	require.Equal(t, "ahead", stateOf(lease.Slot{Now: 5, Expires: 4, HighWater: 5}))
	require.Equal(t, "free", stateOf(lease.Slot{Now: 5, Expires: 4, HighWater: 4}))
}

// Another program has written controls into a pin. JSON does not escape all that a terminal obeys.
func TestPinPrintsNoControls(t *testing.T) {
	t.Parallel()
	r := miniredis.RunT(t)
	s := newScene(t, "redis://"+r.Addr(), "--durable")
	s.ok("init --yes")
	r.HSet("snowlease:{orders}:meta", "pin", "retired: \u009b31m\u202emoved")
	require.NotRegexp(t, "\u009b|\u202e", s.ok("retire --yes"))
	r.HSet("snowlease:{orders}:meta", "pin", "\u202e\u0085"+strings.Repeat("A", 900))
	require.Less(t, len(s.ok("workers --json", `"pin":"??AAA`)), 1000)
	r.HSet("snowlease:{orders}:meta", "pin", strings.Repeat("A", 64<<10))
	require.Less(t, len(s.exits(exitFailed, "workers --json", "a record is damaged")), 1000)
}
