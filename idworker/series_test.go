package idworker_test

import (
	"fmt"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/redisnumbers"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/redisseq"
)

// TestSeries: the series of a Config are asked for by name, in transactions of the *gorm.DB or
// without, and show in the status, next to segments.
func TestSeries(t *testing.T) {
	t.Parallel()
	cfg := idworker.Config{
		Namespace: namespace(t), Store: idworker.StoreConfig{Durable: true},
		Segments: []numbers.SegmentConfig{{Name: "members"}},
		Series:   []numbers.SeriesConfig{{Name: "bills", Format: "B{000}", Gapless: true}, {Name: "orders"}},
	}
	db := newSQLite(t, cfg)
	var s *idworker.Numbers
	a := fxtest.New(t, fx.NopLogger, idworker.Module, fx.Supply(cfg, db), fx.Populate(&s))
	orders, err := s.Series("orders")
	require.NoError(t, err)
	_, err = orders.Next(t.Context(), "")
	require.ErrorIs(t, err, snowlease.ErrNotStarted)
	require.ErrorIs(t, s.Healthy(), snowlease.ErrNotStarted)
	a.RequireStart()
	bills, err := s.Series("bills")
	require.NoError(t, err)
	for _, want := range []string{"B001", "B002"} {
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
			n, err := bills.NextTx(t.Context(), gormdb.Tx(tx), "a")
			require.Equal(t, want, n.String())
			return err
		}))
	}
	n, err := orders.Next(t.Context(), "")
	require.NoError(t, err)
	require.EqualValues(t, 1, n.Value)
	s.Reset()
	n, err = orders.Next(t.Context(), "")
	require.NoError(t, err)
	require.EqualValues(t, 2, n.Value)

	var names []string
	for _, st := range s.Status() {
		names = append(names, fmt.Sprint(st.Name, " ", st.Strict))
	}
	ns := cfg.Namespace
	require.Equal(t, []string{ns + "/members false", ns + "/bills true", ns + "/orders true"}, names)
	require.NoError(t, s.Healthy())
	_, err = s.Series("nobody")
	require.ErrorContains(t, err, `series "nobody" is not configured (configured: ["bills" "orders"])`)
	a.RequireStop()
	_, err = orders.Next(t.Context(), "")
	require.ErrorIs(t, err, numbers.ErrClosed, "although it has numbers left")
	require.ErrorIs(t, orders.Healthy(), numbers.ErrClosed)
}

// What Module cannot open is an error of the graph, by its key. Series are in a database,
// whatever numbers.Store the graph has.
func TestSeriesFaults(t *testing.T) {
	t.Parallel()
	one := idworker.Config{Mode: idworker.ModeLocal, Series: []numbers.SeriesConfig{{Name: "a"}}}
	stored := func(s numbers.Store) fx.Option { return fx.Provide(func() numbers.Store { return s }) }
	redisStore, err := redisnumbers.New(newRedis(t, miniredis.RunT(t).Addr()), redisseq.WithDurable(true))
	require.NoError(t, err)
	for _, c := range []struct {
		says  string
		cfg   idworker.Config
		store fx.Option
	}{
		{`series[0].period "hour" is unknown`, idworker.Config{Series: []numbers.SeriesConfig{{Name: "a", Period: "hour"}}}, nil},
		{`series[1].name "a" is used twice`, idworker.Config{Series: []numbers.SeriesConfig{{Name: "a"}, {Name: "a"}}}, nil},
		{`series[0].name "b" is used twice`, idworker.Config{Segments: []numbers.SegmentConfig{{Name: "b"}}, Series: []numbers.SeriesConfig{{Name: "b"}}}, nil},
		{`segments[0].name "a.b" is the name of a scope of series a`, idworker.Config{Segments: []numbers.SegmentConfig{{Name: "a.b"}}, Series: []numbers.SeriesConfig{{Name: "a"}}}, nil},
		{"series: no *gorm.DB", one, nil},
		{"series a: idworker_test.onlyStore is no database", one, stored(onlyStore{})},
		{"series a: *redisnumbers.Store is no database", one, stored(redisStore)},
	} {
		c.cfg.Namespace = "orders"
		if c.store == nil {
			c.store = fx.Options()
		}
		require.ErrorContains(t, fx.New(fx.NopLogger, idworker.Module, fx.Supply(c.cfg), c.store, fx.Invoke(func(*idworker.Numbers) {})).Err(), c.says)
	}
	require.ErrorContains(t, fx.New(fx.NopLogger, idworker.Named("a", one)).Err(), "only Module opens")
}

type onlyStore struct{ numbers.Store }
