package history_test

import (
	"database/sql"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/numbers/history"
)

// Processes run while their counters are lost or replaced by older ones. None of them issues
// an id again, also if another process has begun to count meanwhile.
func TestCountersLostWhileRunning(t *testing.T) {
	t.Parallel()
	const backup, restore = "CREATE TABLE kept AS SELECT * FROM snowlease_segment", "INSERT INTO snowlease_segment SELECT * FROM kept"
	for name, server := range map[string]struct {
		driver string
		dsn    func(testing.TB) string
	}{
		"sqlite":   {"sqlite", func(t testing.TB) string { return filepath.Join(t.TempDir(), "app.db") }},
		"mariadb":  {"mysql", testserver.MariaDB},
		"mysql":    {"mysql", testserver.MySQL},
		"postgres": {"pgx", testserver.Postgres},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for how, loss := range map[string][]string{
				"deleted":                  {"DELETE FROM snowlease_segment"},
				"dropped":                  {"DROP TABLE snowlease_segment"},
				"counters":                 {"DELETE FROM snowlease_segment WHERE name LIKE '/past.%'"},
				"counters and their count": {"DELETE FROM snowlease_segment WHERE name LIKE '/past.%' OR name LIKE '/count.%'"},
				"restored":                 {"DELETE FROM snowlease_segment", restore, "DELETE FROM snowlease_segment WHERE name LIKE '/since.%'"},
			} {
				dsn := server.dsn(t)
				db, err := sql.Open(server.driver, dsn)
				require.NoError(t, err)
				run := func(text string) {
					_, err := db.ExecContext(t.Context(), text)
					require.NoError(t, err, text)
				}
				store := open(t, server.driver, dsn)
				start := time.Now().Truncate(time.Second)
				now := start
				at, ago := start.Add(2*time.Minute), start.Add(-24*time.Hour) // after and before Since
				beside := func(t time.Time) time.Time {                       // another span of one second, in the same family
					return t.Add(time.Second * time.Duration(1-(t.UnixMilli()-layout.Epoch)/1000&1*2))
				}
				born := func(namespace string) *history.Issuer {
					i, err := history.NewOf(store, history.Of{Namespace: namespace, Layout: layout, Reserved: 1, Config: history.Config{Ahead: time.Minute}})
					require.NoError(t, err)
					i.At(func() time.Time { return now })
					_, err = i.Since(t.Context())
					require.NoError(t, err)
					return i
				}
				first, second := born("orders"), born("orders")
				now = start.Add(4 * time.Minute)
				seen := map[int64]bool{}
				take := func(i *history.Issuer, at time.Time) error {
					id, err := i.NextIDAt(t.Context(), at)
					require.False(t, seen[id] && err == nil, "%s: %d comes twice", how, id)
					seen[id] = true
					return err
				}
				old := func(i *history.Issuer) *history.Issuer { return i.Backfill(start) }
				require.NoError(t, errors.Join(take(first, at), take(old(first), ago)))
				run(backup)
				for range 2 {
					require.NoError(t, take(first, at))
					require.NoError(t, take(second, at))
					require.NoError(t, take(old(second), ago))
				}
				for _, text := range loss {
					run(text)
				}
				for round := range 2 {
					for _, i := range []*history.Issuer{first, second} {
						for _, err := range []error{take(i, at), take(i, beside(at)), take(old(i), ago), take(old(i), beside(ago))} {
							require.ErrorIs(t, err, numbers.ErrUnknown, "%s, round %d", how, round)
							require.ErrorContains(t, err, "restart")
							require.ErrorContains(t, err, map[string]string{"counters": "would count 2 names, and there would be 1"}[how], "not those of other families")
						}
					}
					// A process that starts counts anew, for times to come and for times of which its caller
					// knows that they have no ids.
					third := born("orders")
					if strings.HasPrefix(how, "counters") { // nobody says that they are lost
						for _, i := range []*history.Issuer{third, born("more-orders")} {
							require.Error(t, take(i, at))
							require.ErrorIs(t, take(old(i), beside(ago)), numbers.ErrUnknown)
						}
						require.ErrorIs(t, take(third, at), numbers.ErrUnknown)
						if round == 0 {
							continue
						}
						run(restore + " WHERE name LIKE '/past.%'")                                             // some of them
						run("DELETE FROM snowlease_segment WHERE name LIKE '/since.%' OR name LIKE '/count.%'") // docs/numbers.md
						third = born("orders")
					}
					require.NoError(t, take(old(third), beside(ago)))
					require.ErrorIs(t, take(third, at), history.ErrTime)
				}
				require.NoError(t, db.Close())
			}
		})
	}
}

// A Since that no process can have written is damage. Ids for times before one that is far ahead would
// be refused until then.
func TestSinceThatNoProcessWrote(t *testing.T) {
	t.Parallel()
	store, start := records{}, time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	ask := func() (time.Time, error) {
		return issuer(t, store, history.Of{Layout: layout, Reserved: 1, Config: history.Config{Ahead: time.Minute}}).At(func() time.Time { return start }).Since(t.Context())
	}
	since, err := ask()
	require.NoError(t, err)
	require.Len(t, store, 1)
	after := func(d time.Duration) int64 { return since.Add(d).UnixMilli() << 20 }
	for name := range store {
		store[name] = after(107 * time.Hour)
		_, err := ask()
		require.NoError(t, err)
		for _, last := range []int64{
			math.MinInt64, -1, 0, 1, layout.Epoch<<20 - 2, after(108 * time.Hour), after(170 * 365 * 24 * time.Hour), math.MaxInt64 - 1<<20, math.MaxInt64 - 1, math.MaxInt64,
		} {
			store[name] = last
			_, err := ask()
			require.ErrorIs(t, err, lease.ErrDamaged, last)
			require.ErrorContains(t, err, "no process wrote")
			require.Equal(t, last == math.MaxInt64, errors.Is(err, numbers.ErrEnd))
		}
	}
}
