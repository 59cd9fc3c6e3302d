package idworker_test

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers/redissegments"
	"github.com/snowlease/snowlease/numbers/segment"
	"github.com/snowlease/snowlease/numbers/series"
	"github.com/snowlease/snowlease/redisseq"
)

// TestSeries: the series of a Config are asked for by name, in transactions of the *gorm.DB or
// without, and show in the status, next to segments.
func TestSeries(t *testing.T) {
	t.Parallel()
	cfg := idworker.Config{
		Namespace: namespace(t), Store: idworker.StoreConfig{Quarantine: lease.QuarantineNever},
		Segments: []segment.Config{{Name: "members"}},
		Series:   []series.Config{{Name: "bills", Format: "B{000}", Gapless: true}, {Name: "orders"}},
	}
	db := newSQLite(t, cfg)
	var s *idworker.Segments
	a := fxtest.New(t, fx.NopLogger, idworker.Module, fx.Supply(cfg, db), fx.Populate(&s))
	orders, err := s.Series("orders")
	require.NoError(t, err)
	_, err = orders.Next(t.Context(), "")
	require.ErrorIs(t, err, segment.ErrNotStarted)
	require.ErrorIs(t, s.Healthy(t.Context()), segment.ErrNotStarted)
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
		names = append(names, st.Name+" "+string(st.Order))
	}
	require.Equal(t, []string{"members process", "bills gapless", "orders strict"}, names)
	require.NoError(t, s.Healthy(t.Context()))
	_, err = s.Series("nobody")
	require.ErrorContains(t, err, `series "nobody" is not configured (configured: ["bills" "orders"])`)
	a.RequireStop()
	_, err = orders.Next(t.Context(), "")
	require.ErrorIs(t, err, segment.ErrClosed, "although it has numbers left")
	require.ErrorIs(t, orders.Healthy(t.Context()), segment.ErrClosed)
}

// Mode local has no tables of its own, but numbers in a database have.
func TestTablePrefixOfNumbersInModeLocal(t *testing.T) {
	t.Parallel()
	cfg := idworker.Config{Mode: idworker.ModeLocal, Store: idworker.StoreConfig{TablePrefix: "orders_"}}
	require.ErrorContains(t, cfg.Validate(), "store is set, but mode local has no store")
	withSegments, withSeries := cfg, cfg
	withSegments.Segments = []segment.Config{{Name: "members"}}
	withSeries.Series = []series.Config{{Name: "invoices"}}
	require.NoError(t, withSegments.Validate())
	require.NoError(t, withSeries.Validate())
}

// TestSeriesFaults: what Module cannot open is an error of the graph, by its key.
func TestSeriesFaults(t *testing.T) {
	t.Parallel()
	for says, cfg := range map[string]idworker.Config{
		`series[0].period "hour" is unknown`:                        {Series: []series.Config{{Name: "a", Period: "hour"}}},
		`series[1].name "a" is used twice`:                          {Series: []series.Config{{Name: "a"}, {Name: "a"}}},
		`series[0].name "b" is used twice`:                          {Segments: []segment.Config{{Name: "b"}}, Series: []series.Config{{Name: "b"}}},
		`segments[0].name "a.b" is that of a scope of the series a`: {Segments: []segment.Config{{Name: "a.b"}}, Series: []series.Config{{Name: "a"}}},
		"series: no *gorm.DB":                                       {Mode: idworker.ModeLocal, Series: []series.Config{{Name: "a"}}},
	} {
		cfg.Namespace = "orders"
		err := fx.New(fx.NopLogger, idworker.Module, fx.Supply(cfg), fx.Invoke(func(*idworker.Segments) {})).Err()
		require.ErrorContains(t, err, says)
	}
	err := fx.New(fx.NopLogger, idworker.Module, fx.Supply(idworker.Config{Mode: idworker.ModeLocal, Series: []series.Config{{Name: "a"}}}),
		fx.Provide(func() segment.Store { return onlyStore{} }), fx.Invoke(func(*idworker.Segments) {})).Err()
	require.ErrorContains(t, err, "is no database")
	require.ErrorContains(t, fx.New(fx.NopLogger, idworker.Named("a", idworker.Config{Series: []series.Config{{Name: "a"}}})).Err(), "only Module opens")
}

type onlyStore struct{ segment.Store }

// Series are in a database, whatever segment.Store the graph has.
func TestSeriesRefuseAStoreOnRedis(t *testing.T) {
	t.Parallel()
	client := newRedis(t, miniredis.RunT(t).Addr())
	var s *idworker.Segments
	app := fx.New(fx.NopLogger, idworker.Module, fx.Populate(&s),
		fx.Supply(idworker.Config{Mode: idworker.ModeLocal, Series: []series.Config{{Name: "orders", Period: series.Day}}}),
		fx.Provide(func() (segment.Store, error) {
			return redissegments.New(client, redisseq.WithQuarantine(lease.QuarantineNever))
		}))
	require.ErrorContains(t, app.Err(), "series orders: *redissegments.Store is no database")
}
