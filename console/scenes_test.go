package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/console"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
)

// database is a memcenter that looks like a database to people.
type database struct{ *memcenter.Center }

func (d database) Extras() lease.Extras {
	return lease.Extras{Name: "mysql db:3306/shop", Lister: d}
}

func (d database) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	g, err := d.Center.Renew(ctx, g)
	return g, plain(err)
}

func (d database) Slots(ctx context.Context, namespace string) ([]lease.Slot, error) {
	list, err := d.Center.Slots(ctx, namespace)
	return list, plain(err)
}

var errAway = errors.New("dial tcp 10.0.3.7:3306: connect: connection refused")

// plain removes the name of package memcenter.
func plain(err error) error {
	if errors.Is(err, errAway) {
		return errAway
	}
	return err
}

// A night is a worker in a bubble of synctest whose center fails.
type night struct {
	*testing.T
	center *memcenter.Center
	worker *snowlease.Worker
	page   http.Handler
}

// anight begins at 23:00 and calls play. Until then nothing happens: 100 ids a second.
func anight(t *testing.T, cfg idworker.Config, play func(*night)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC)))
		n := &night{T: t, center: memcenter.New()}
		n.center.Reincarnate("5f0c41e2")
		cfg.Namespace = "orders"
		req, err := cfg.Request()
		require.NoError(t, err)
		require.NoError(t, n.center.Init(t.Context(), req))
		for _, pod := range []string{"8w4tn", "q9zlc", "x2kqz"} {
			cfg.Holder = "orders@orders-7d9f8c6b5-" + pod + ":1"
			w, err := idworker.Open(t.Context(), cfg, idworker.Clients{Center: database{n.center}})
			require.NoError(t, err)
			defer func() {
				n.up()
				require.NoError(t, w.Close())
			}()
			n.worker = w // the last one
		}
		n.page = console.Of(n.worker)
		console.Dress(n.page, "orders-7d9f8c6b5-x2kqz", time.Now())
		play(n)
	})
}

// until lets ids be made, 20 each 200 ms, up to a time of the night.
func (n *night) until(clock string) {
	n.Helper()
	end, err := time.Parse(time.DateTime, "2026-11-20 "+clock)
	require.NoError(n, err)
	n.run(end)
}

// ceiling is like until, up to a time after the worker's ceiling, or before it.
func (n *night) ceiling(after time.Duration) {
	n.run(n.worker.Status().Ceiling.Add(after + 100*time.Millisecond))
}

func (n *night) run(end time.Time) {
	for time.Now().Before(end) {
		time.Sleep(min(200*time.Millisecond, time.Until(end)))
		if n.worker.Healthy() == nil {
			require.NoError(n, n.worker.NextIDs(n.Context(), make([]int64, 20)))
		}
	}
	synctest.Wait()
}

// down makes the center fail, up ends that.
func (n *night) down() {
	n.center.Intercept(func(context.Context, string, bool) error { return errAway })
}

func (n *night) up() { n.center.Intercept(nil) }

// outlook is that of api/status.
type outlook struct {
	Level, Kind, Text, Do, Link string
	Since, Until                time.Time
}

func (n *night) outlook() outlook {
	n.Helper()
	return statusOf(n, n.page, "").Outlook
}

func (n *night) says(level, kind, text string) {
	n.Helper()
	o := n.outlook()
	require.Equal(n, []string{level, kind, text}, []string{o.Level, o.Kind, o.Text}, time.Now())
	require.Contains(n, strings.ReplaceAll(get(n, n.page, "/").Body.String(), "\u00a0", " "), fmt.Sprintf(`<span class="text">%s</span>`, text), "the page has the same words")
}

// The five states, in the order of the documentation.
var scenes = []struct {
	name, level, text string
	cfg               idworker.Config
	play              func(*night)
}{
	{"ok", "green", `^issues ids; the lease is renewed$`, idworker.Config{}, func(n *night) { n.until("23:08:40") }},
	{"failing", "amber", `^ids stop in 8 s: renewals have failed since 23:08:\d\d UTC$`, idworker.Config{}, failing},
	{"stopped", "red", `^no ids since 23:09:\d\d UTC \(2 min 3 s\): the lease has expired; renewals have failed since 23:08:\d\d UTC$`, idworker.Config{}, func(n *night) {
		failing(n)
		n.ceiling(123 * time.Second)
	}},
	{"ahead", "green", `^issues ids, whose times the clock reaches in \d+ s: mysql db:3306/shop may have lost leases \(it restarted, failed over or lost records\), and new ids lie above all of their ids$`, idworker.Config{}, func(n *night) {
		n.until("23:08:40")
		n.center.Reincarnate("9b31d870")
		n.until("23:08:56")
	}},
	{"waiting", "amber", `^no worker id yet: the center lends again in 9 s: the store restarted or was replaced$`, idworker.Config{Store: idworker.StoreConfig{Skew: 15 * time.Second}}, func(n *night) {
		n.until("23:08:40")
		n.center.Reincarnate("9b31d870")
		n.starts()
		n.until("23:08:47")
	}},
}

// starts lets another process start, whose page is then n's.
func (n *night) starts() {
	cfg := idworker.Config{Namespace: "orders", Holder: "orders@orders-7d9f8c6b5-m5hvt:1", Store: idworker.StoreConfig{Skew: 15 * time.Second}, Wait: 20 * time.Second}
	app := fxtest.New(n, fx.NopLogger, idworker.Module, fx.Supply(cfg), fx.Provide(func() lease.Center { return database{n.center} }), fx.Populate(&n.worker))
	done := make(chan error, 1)
	go func() { done <- app.Start(context.Background()) }()
	n.Cleanup(func() {
		require.NoError(n, <-done)
		require.NoError(n, app.Stop(context.Background()))
	})
	n.page = console.Of(n.worker)
	console.Dress(n.page, "orders-7d9f8c6b5-m5hvt", time.Now())
}

func failing(n *night) {
	n.until("23:08:40")
	n.down()
	n.ceiling(-8 * time.Second)
}
