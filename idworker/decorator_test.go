package idworker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/libtnb/sqlite"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/casstore"
	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
	"github.com/snowlease/snowlease/snowflake"
)

// traced wraps a center, as examples/more/center does.
type traced struct{ lease.Center }

// A decorated center keeps everything that the center offers: its name, promise, warnings,
// slots, backdated ids, and the verbs of operators.
func TestDecoratedCenters(t *testing.T) {
	cfg := idworker.Config{Namespace: namespace(t), Reserved: 1}
	for name, c := range map[string]struct {
		open             func(*testing.T) (lease.Center, error)
		slots            int
		warns, past, ops bool
		promise          bool
	}{
		"dbseq": {func(t *testing.T) (lease.Center, error) {
			db := openDB(t, sqlite.Open(":memory:"))
			pool, err := db.DB()
			require.NoError(t, err)
			pool.SetMaxOpenConns(1)
			return gormdb.Center(db)
		}, 31, true, true, true, true},
		"redisseq": {func(t *testing.T) (lease.Center, error) {
			return redisseq.New(newRedis(t, testserver.Redis(t)))
		}, 31, false, false, true, false},
		"hostseq": {func(t *testing.T) (lease.Center, error) {
			return hostseq.New(hostseq.Config{Source: hostseq.Hash, Dir: t.TempDir()}, snowflake.Layout{})
		}, 1, true, false, false, true},
		"casstore": {func(t *testing.T) (lease.Center, error) {
			return casstore.New(memcenter.NewStore()), nil
		}, 31, false, false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			center, err := c.open(t)
			require.NoError(t, err)
			if center.Extras().Init != nil {
				initialize(t, center, cfg)
			}
			wrapped := traced{center}
			var j journal
			w, err := idworker.Open(t.Context(), cfg, idworker.Clients{Center: wrapped, Logger: j.logger()})
			require.NoError(t, err)
			st := w.Status()
			require.NotContains(t, st.Center, "traced")
			require.Contains(t, j.String(), st.Center)
			require.Equal(t, c.promise, st.Uniqueness != "")
			require.Equal(t, c.warns, strings.Contains(j.String(), `msg="lease center"`), j.String())
			slots, err := w.Slots(t.Context())
			require.NoError(t, err)
			require.Len(t, slots, c.slots)
			past, err := idworker.History(cfg, w)
			if c.past {
				require.NoError(t, err)
				_, err = past.Backfill(time.Now()).NextIDAt(t.Context(), time.Now().Add(-time.Hour))
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, "no backdated ids")
			}
			op := wrapped.Extras().Operator
			require.Equal(t, c.ops, op != nil)
			if c.ops {
				rec, err := op.Record(t.Context(), cfg.Namespace)
				require.NoError(t, err)
				require.Equal(t, int64(31), rec.Pin.Pool)
			}
			require.NoError(t, w.Close())
			require.NoError(t, wrapped.Close())
		})
	}
}
