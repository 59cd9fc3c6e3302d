package idworker_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/snowflake"
)

// TestEveryKeyHasAnEffect changes one key of the configuration at a time and looks at what
// it is for. Each key is in the list, or in that of keys with a test of their own.
func TestEveryKeyHasAnEffect(t *testing.T) {
	t.Parallel()
	narrow := snowflake.Layout{BusinessBits: 13, WorkerBits: 5, SequenceBits: 4}
	var (
		leased   = idworker.Config{Namespace: "orders", Layout: narrow}
		counted  = idworker.Config{Namespace: "orders", Mode: idworker.ModeRedisSequence, Layout: narrow, Sequence: idworker.SequenceConfig{MaxAge: time.Hour}, Store: idworker.StoreConfig{Skew: time.Millisecond, Durable: true}}
		local    = idworker.Config{Mode: idworker.ModeLocal, Layout: narrow}
		inRedis  = idworker.Config{Namespace: "orders", Mode: idworker.ModeRedis, Store: idworker.StoreConfig{Skew: time.Millisecond, Durable: true}}
		stored   = idworker.Config{Namespace: "orders", Mode: idworker.ModeDB}
		seventh  = int64(7)
		serial   = idworker.Config{Namespace: "orders", Store: idworker.StoreConfig{Durable: true}, Series: []numbers.SeriesConfig{{Name: "orders"}}}
		numbered = idworker.Config{Namespace: "orders", SegmentStore: idworker.SegmentStoreDB, Store: idworker.StoreConfig{Durable: true}, Segments: []numbers.SegmentConfig{{Name: "order_no", Strict: true}}}
	)
	for _, k := range []struct {
		key    string
		base   idworker.Config
		change func(*idworker.Config)
		see    func(*testing.T, idworker.Config) string
		want   string
	}{
		{"namespace", leased, func(c *idworker.Config) { c.Namespace = "billing" }, asked, "Namespace:billing"},
		{"layout", leased, func(c *idworker.Config) { c.Layout.SequenceBits = 7 }, asked, "/7"},
		{"preset", leased, func(c *idworker.Config) { c.Layout, c.Preset = snowflake.Layout{}, "wide" }, asked, "Pool:1024"},
		{"workers", leased, func(c *idworker.Config) { c.Workers = "8-15" }, asked, "First:8 Last:15"},
		{"reserved", leased, func(c *idworker.Config) { c.Reserved = 3 }, asked, "Pool:29 First:0 Last:28"},
		{"holder", leased, func(c *idworker.Config) { c.Holder = "till 3" }, asked, "Holder:till 3"},
		{"lease.ttl", leased, func(c *idworker.Config) { c.Lease.TTL = 21 * time.Second }, asked, " TTL:21s"},
		{"lease.max_ttl", leased, func(c *idworker.Config) { c.Lease.MaxTTL = 21 * time.Minute }, asked, "MaxTTL:21m0s"},
		{"store.skew", leased, func(c *idworker.Config) { c.Store.Skew = 3 * time.Second }, asked, "Skew:3s"},
		{"store.exact_times", leased, func(c *idworker.Config) { c.Store.ExactTimes = true }, asked, "Ahead:0s"},
		{"lease.renew", leased, func(c *idworker.Config) { c.Lease.Renew = "@every 1s" }, renewals, "60 a minute"},
		{"lease.renew", leased, func(c *idworker.Config) { c.Lease.Renew = "*/5 * * * * *" }, renewals, "12 a minute"},
		{"business", leased, func(c *idworker.Config) { c.Business = 3 }, issued, "business 3"},
		{"max_ahead", leased, func(c *idworker.Config) { c.MaxAhead = 100 * time.Millisecond }, reach, "100ms"},
		{"wait", leased, func(c *idworker.Config) { c.Wait = 3 * time.Second }, patience, "3s"},

		{"store.durable", stored, func(c *idworker.Config) { c.Store.Durable = true }, afterAFailover, "no quarantine"},
		{"store.durable", inRedis, func(c *idworker.Config) { c.Store.Durable = false }, onMiniredis, "run_id"},

		{"store.wait_replicas", inRedis, func(c *idworker.Config) { c.Store.WaitReplicas, c.Wait = 1, 3*time.Second }, onMiniredis, "replica"},

		{"local", local, func(c *idworker.Config) {
			c.Local = hostseq.Config{Source: hostseq.Explicit, Worker: &seventh, Stateless: true}
		}, onThisHost, "worker 7 of local (explicit)"},
		{"local", local, func(c *idworker.Config) { c.Local.Source = hostseq.Hash }, onThisHost, "hash"},
		{"max_ahead", local, func(c *idworker.Config) { c.MaxAhead = 100 * time.Millisecond }, reach, "200ms"},

		{"sequence: namespace", counted, func(c *idworker.Config) { c.Namespace = "billing" }, onMiniredis, "{billing}:sequence: layout="},
		{"sequence: layout", counted, func(c *idworker.Config) { c.Layout.SequenceBits = 7 }, onMiniredis, "/7"},
		{"sequence.worker", counted, func(c *idworker.Config) { c.Sequence.Worker = 7 }, onMiniredis, "worker 7"},
		{"sequence: max_ahead", counted, func(c *idworker.Config) { c.MaxAhead = 777 * time.Millisecond }, onMiniredis, "777"},
		{"sequence: store.skew", counted, func(c *idworker.Config) { c.Store.Skew = 7 * time.Millisecond }, onMiniredis, "skew=7"},
		{"sequence: store.durable", counted, func(c *idworker.Config) { c.Store.Durable = false }, onMiniredis, "run_id"},
		{"sequence.prefetch", counted, func(c *idworker.Config) { c.Sequence.Prefetch = 1 }, onMiniredis, "strict true"},
		{"sequence: business", counted, func(c *idworker.Config) { c.Business = 3 }, onMiniredis, "business 3"},
		{"sequence: store.exact_times", counted, func(c *idworker.Config) { c.Store.ExactTimes, c.MaxAhead = true, time.Hour }, onMiniredis, "quarantine"},
		{"sequence: store.wait_replicas", counted, func(c *idworker.Config) { c.Store.WaitReplicas, c.Wait = 1, 3*time.Second }, onMiniredis, "replica"},

		{"segments", numbered, func(c *idworker.Config) { c.Segments[0].Start = 700 }, first, "order_no 700"},
		{"series", serial, func(c *idworker.Config) { c.Series[0].Start = 700 }, first, "orders 000700"},
		{"segment_store", numbered, func(c *idworker.Config) { c.SegmentStore = idworker.SegmentStoreRedis }, first, "not in the store: \"orders/order_no\" at redis"},
	} {
		t.Run(k.key, func(t *testing.T) {
			t.Parallel() // some wait for a quarantine
			require.NotContains(t, k.see(t, k.base), k.want)
			k.base.Segments = append([]numbers.SegmentConfig(nil), k.base.Segments...)
			k.change(&k.base)
			require.Contains(t, k.see(t, k.base), k.want)
		})
	}
}

// request notes what is asked for.
type request struct {
	*memcenter.Center
	lease.Request
}

func (r *request) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	r.Request = req
	return r.Center.Acquire(ctx, req)
}

// virtually opens a worker in virtual time, on a center in memory unless the mode is local.
func virtually(t *testing.T, c idworker.Config, see func(*testing.T, *idworker.IdWorker, *request)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))) // the bubble begins before the epoch
		r := &request{Center: memcenter.New()}
		if c.Mode == idworker.ModeLocal {
			if c.Local.Worker == nil {
				c.Local.Dir = dir
			}
		} else {
			initialize(t, r, c)
		}
		w, err := idworker.Open(t.Context(), c, idworker.Clients{Center: r})
		require.NoError(t, err)
		defer func() { require.NoError(t, w.Close()) }()
		see(t, w, r)
	})
}

func asked(t *testing.T, c idworker.Config) (seen string) {
	virtually(t, c, func(_ *testing.T, _ *idworker.IdWorker, r *request) {
		seen = fmt.Sprintf("Namespace:%v Layout:%v Holder:%v Pool:%v First:%v Last:%v TTL:%v MaxTTL:%v Skew:%v Ahead:%v", r.Namespace, r.Layout, r.Holder, r.Pool, r.First, r.Last, r.TTL, r.MaxTTL, r.Skew, r.MaxLead)
	})
	return seen
}

func issued(t *testing.T, c idworker.Config) (seen string) {
	virtually(t, c, func(t *testing.T, w *idworker.IdWorker, _ *request) {
		id, err := w.NextID()
		require.NoError(t, err)
		parts, err := c.Layout.Decode(id)
		require.NoError(t, err)
		seen = fmt.Sprintf("business %d", parts.Business)
	})
	return seen
}

// renewals returns how often a worker renews.
func renewals(t *testing.T, c idworker.Config) (seen string) {
	virtually(t, c, func(_ *testing.T, w *idworker.IdWorker, _ *request) {
		time.Sleep(time.Minute) // the lease is young, and some points are met early
		before := w.Status().Renewals
		time.Sleep(10 * time.Minute)
		seen = fmt.Sprintf("%.0f a minute", float64(w.Status().Renewals-before)/10)
	})
	return seen
}

// reach returns how far ids run ahead of the clock.
func reach(t *testing.T, c idworker.Config) (seen string) {
	virtually(t, c, func(t *testing.T, w *idworker.IdWorker, _ *request) {
		var lead time.Duration
		for n := range 20_000 { // more than a second holds
			if _, err := w.NextID(); err != nil {
				require.ErrorIs(t, err, snowlease.ErrExhausted)
			}
			if n%16 == 15 { // a tick
				lead = max(lead, w.Status().Lead)
			}
		}
		seen = lead.Round(10 * time.Millisecond).String()
	})
	return seen
}

// patience returns how long a start tries: up to a second less than wait.
func patience(t *testing.T, c idworker.Config) (seen string) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
		center := memcenter.New()
		center.Intercept(func(context.Context, string, bool) error { return errors.New("away") })
		began := time.Now()
		_, err := idworker.Open(t.Context(), c, idworker.Clients{Center: center})
		require.Error(t, err)
		seen = time.Since(began).Round(time.Second).String()
	})
	return seen
}

// afterAFailover says whether a quarantine began because the database is another one.
func afterAFailover(t *testing.T, c idworker.Config) string {
	db := newSQLite(t, c)
	require.NoError(t, db.Exec("UPDATE snowlease_meta SET incarnation = 'another'").Error)
	w, err := idworker.Open(t.Context(), c, idworker.Clients{DB: db})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	var quarantine int64
	require.NoError(t, db.Raw("SELECT quarantine_ms FROM snowlease_meta").Scan(&quarantine).Error)
	if quarantine == 0 {
		return "no quarantine"
	}
	return "a quarantine"
}

// onMiniredis opens a worker on a Redis, or returns why there is none.
func onMiniredis(t *testing.T, c idworker.Config) string {
	server := miniredis.RunT(t)
	w, err := idworker.Open(t.Context(), c, idworker.Clients{Redis: newRedis(t, server.Addr())})
	if err != nil {
		return err.Error()
	}
	defer func() { require.NoError(t, w.Close()) }()
	if w.Status().Sequence == nil {
		return "open"
	}
	ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(c.Wait, 10*time.Second))
	defer cancel()
	id, err := w.NextIDWait(ctx)
	if err != nil {
		return err.Error()
	}
	status := w.Status()
	decoded, err := c.Layout.Decode(id)
	require.NoError(t, err)
	key := "snowlease:{" + c.Namespace + "}:sequence"
	return fmt.Sprintf("%s: %s strict %t, worker %d, business %d", key, server.HGet(key, "pin"), status.Sequence.Strict, decoded.Worker, decoded.Business)
}

// TestMaxAge: sequence.max_age is how long reserved ids are kept.
func TestMaxAge(t *testing.T) {
	t.Parallel()
	for age, keeps := range map[time.Duration]bool{time.Hour: true, 200 * time.Millisecond: false} {
		t.Run(age.String(), func(t *testing.T) {
			t.Parallel()
			w, err := idworker.Open(t.Context(), idworker.Config{
				Namespace: "orders", Mode: idworker.ModeRedisSequence, Sequence: idworker.SequenceConfig{MaxAge: age}, Store: idworker.StoreConfig{Durable: true},
			}, idworker.Clients{Redis: newRedis(t, miniredis.RunT(t).Addr())})
			require.NoError(t, err)
			defer func() { require.NoError(t, w.Close()) }()
			atHand := func() bool { return w.Status().Sequence.AtHand > 0 }
			require.Eventually(t, func() bool { _, err := w.NextID(); return err == nil && atHand() }, 10*time.Second, time.Millisecond)
			if keeps {
				time.Sleep(1500 * time.Millisecond) // longer than by default
				require.True(t, atHand())
				return
			}
			require.Eventually(t, func() bool { return !atHand() }, 10*time.Second, 10*time.Millisecond)
		})
	}
}

// onThisHost says which worker id a process on this host gets.
func onThisHost(t *testing.T, c idworker.Config) (seen string) {
	virtually(t, c, func(_ *testing.T, w *idworker.IdWorker, _ *request) {
		st := w.Status()
		seen = fmt.Sprintf("worker %d of %s, %s", st.Worker, st.Center, st.Uniqueness)
	})
	return seen
}

// first returns the first number of a series or segment, or why there is none.
func first(t *testing.T, c idworker.Config) string {
	var s *idworker.Numbers
	a := fxtest.New(t, fx.NopLogger, idworker.Module, universal(newRedis(t, miniredis.RunT(t).Addr())), fx.Supply(c, newSQLite(t)), fx.Populate(&s))
	a.RequireStart()
	defer a.RequireStop()
	if one, err := s.Series("orders"); err == nil {
		n, err := one.Next(t.Context(), "")
		require.NoError(t, err)
		return "orders " + n.String()
	}
	g, err := s.Segment("order_no")
	require.NoError(t, err)
	n, err := g.Next(t.Context())
	if err != nil { // segments in Redis are created by hand
		return err.Error()
	}
	return fmt.Sprint("order_no ", n)
}

// TestEveryKeyIsTested looks for keys that no row of TestEveryKeyHasAnEffect changes, and
// that have no other test.
func TestEveryKeyIsTested(t *testing.T) {
	elsewhere := map[string]string{
		"mode":                   "TestLocalMode",
		"lease.shutdown_on_loss": "TestShutdownOnLoss",
		"sequence.max_age":       "TestMaxAge",
		"store.table_prefix":     "TestTablePrefix",
	}
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	effects, err := os.ReadFile("wirings_test.go")
	require.NoError(t, err)
	var tests strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		tests.Write(text)
	}
	var walk func(reflect.Type, string)
	walk = func(of reflect.Type, block string) {
		for _, f := range reflect.VisibleFields(of) {
			key := block + f.Tag.Get("yaml")
			if name := elsewhere[key]; name != "" {
				require.True(t, strings.Contains(tests.String(), "func "+name+"("), "%s of %s", name, key)
			} else if f.Type.Kind() == reflect.Struct && key != "layout" && key != "local" { // their packages test the keys of these
				walk(f.Type, key+".")
			} else {
				require.True(t, strings.Contains(string(effects), `{"`+key+`", `), "TestEveryKeyHasAnEffect has no row for %s", key)
			}
		}
	}
	walk(reflect.TypeFor[idworker.Config](), "")
}
