package dbseq_test

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/sqlnumbers"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/numbers"
)

func segments(t testing.TB, db *gorm.DB, opts ...dbseq.Option) *sqlnumbers.Store {
	t.Helper()
	return center(t, db, opts...).Numbers().(*sqlnumbers.Store)
}

// segmentsOn is segments on a pool.
func segmentsOn(t testing.TB, pool *sql.DB, dialect dbseq.Dialect) *sqlnumbers.Store {
	t.Helper()
	c, err := dbseq.New(pool, dialect)
	require.NoError(t, err)
	return c.Numbers().(*sqlnumbers.Store)
}

func issuer(t testing.TB, s numbers.Store, cfg numbers.SegmentConfig) *numbers.Segment {
	t.Helper()
	cfg.Namespace, cfg.Name = "shop", cmp.Or(cfg.Name, "orders")
	i, err := numbers.OpenSegment(t.Context(), s, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, i.Close()) })
	return i
}

// countedSegments is counted for numbers.
func countedSegments(t testing.TB, e engine, dsn string) (*sqlnumbers.Store, *counter) {
	t.Helper()
	c, n := counted(t, e, dsn)
	return c.Numbers().(*sqlnumbers.Store), n
}

// reserve asks for n numbers of "shop/orders".
func reserve(n int64) numberstore.Request {
	return numberstore.Request{Name: "shop/orders", N: n, Start: 1, Max: 1 << 40, Create: true}
}

func TestSegmentsKeepTheContract(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		s := segments(t, e.db(t, dsn))
		require.NoError(t, segmentcheck.Run(t.Context(), s, "shop/auto.", nil))
		require.NoError(t, segmentcheck.Run(t.Context(), s, "shop/made.", func(name string, start int64) error {
			return s.Create(t.Context(), name, start)
		}))
		require.NoError(t, segmentcheck.Create(t.Context(), s, "shop/admin"))
		require.NoError(t, segmentcheck.Beside(t.Context(), s))
		require.NoError(t, segmentcheck.Clock(t.Context(), s))
		require.True(t, strings.HasPrefix(s.String(), string(e.dialect)))
	})
}

// TestSegmentUnknown: a name that is missing may have been lost, so the error does not lead
// to numbers that were given before.
func TestSegmentUnknown(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		r := reserve(1)
		r.Create = false
		s := segments(t, e.db(t, dsn))
		_, err := s.Reserve(t.Context(), r)
		require.ErrorIs(t, err, numbers.ErrUnknown)
		require.ErrorContains(t, err, "snowlease segment create --namespace shop --name orders --start N")
		require.ErrorContains(t, err, "above all its numbers")
		_, err = s.HighWater(t.Context(), "shop/orders")
		require.ErrorIs(t, err, numbers.ErrUnknown)
	})
}

// TestNames: names come sorted, in pages of 1000, without those that no Create would take.
func TestNames(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		s := segments(t, db)
		list := func(prefix string) (names []string, last int64) {
			require.NoError(t, s.Names(t.Context(), prefix, func(name string, given int64) error {
				names, last = append(names, name), given
				return nil
			}))
			return names, last
		}
		none, _ := list("")
		require.Empty(t, none)
		require.False(t, db.Migrator().HasTable("snowlease_segment"))

		require.NoError(t, s.Create(t.Context(), "shop/Bills", 1))
		outside := []string{"shop/Bills", "shop/" + strings.Repeat("b", 64), "shop/bill", "shop/bills", "shop/bills-2", "shop/bills/a", "shop/bills_2", "shop2/zz.a"}
		for i, name := range outside[1:] {
			rawExec(t, db, "INSERT INTO snowlease_segment (name, first_id, max_id, seen_ms) VALUES (?, 0, ?, 0)", name, i)
		}
		all, last := list("")
		require.Equal(t, outside, all)
		require.Equal(t, int64(6), last)

		var scopes []string
		var rows []string
		for i := range 2001 {
			scopes = append(scopes, fmt.Sprintf("shop/bills.%04d", i))
			rows = append(rows, fmt.Sprintf("('%s', 0, %d, 0)", scopes[i], i))
		}
		rawExec(t, db, "INSERT INTO snowlease_segment (name, first_id, max_id, seen_ms) VALUES "+strings.Join(rows, ", "))
		got, last := list("shop/bills.")
		require.Equal(t, scopes, got)
		require.Equal(t, int64(2000), last)
		got, last = list("shop/bills.19")
		require.Equal(t, scopes[1900:2000], got)
		require.Equal(t, int64(1999), last)

		enough := errors.New("enough")
		require.ErrorIs(t, s.Names(t.Context(), "shop/bills.", func(string, int64) error { return enough }), enough)
	})
}

// TestStatementsPerReservation: one statement, once the name exists.
func TestStatementsPerReservation(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		s, n := countedSegments(t, e, dsn)
		count := func(r numberstore.Request) int64 {
			before := n.n.Load()
			_, err := s.Reserve(t.Context(), r)
			require.NoError(t, err)
			return n.n.Load() - before
		}
		count(reserve(1))
		for range 3 {
			require.Equal(t, int64(1), count(reserve(100)))
		}
		other := reserve(1)
		other.Name = "shop/other"
		require.Equal(t, int64(5), count(other), "a name that is new: reserve, given, clock, add, reserve")
		require.Equal(t, int64(1), count(other))
	})
}

// TestLostRepliesOfReservations: after a lost reply, numbers are skipped, not repeated.
func TestLostRepliesOfReservations(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		s, n := countedSegments(t, e, dsn)
		_, err := s.Reserve(t.Context(), reserve(10))
		require.NoError(t, err)
		lost := errors.New("connection reset by peer")
		n.after = func(int64, string) error { return lost }
		_, err = s.Reserve(t.Context(), reserve(10))
		require.ErrorIs(t, err, lost)
		require.ErrorContains(t, err, `reserve numbers of "shop/orders" on `+s.String())
		n.after = nil
		got, err := s.Reserve(t.Context(), reserve(10))
		require.NoError(t, err)
		require.Equal(t, numberstore.Range{First: 21, Last: 30}, got)
	})
}

// TestNameLostWhileItIsCreated: a name that is lost before the call that creates it has
// numbers is not created again by that call. Another one may have had numbers meanwhile.
func TestNameLostWhileItIsCreated(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		s, n := countedSegments(t, e, dsn)
		for _, wipe := range []string{"DELETE FROM snowlease_segment", "DROP TABLE snowlease_segment"} {
			wipes := 0
			n.after = func(_ int64, text string) error {
				if strings.HasPrefix(text, "INSERT") && wipes == 0 {
					wipes++
					rawExec(t, db, wipe)
				}
				return nil
			}
			_, err := s.Reserve(t.Context(), reserve(1))
			require.ErrorIs(t, err, numbers.ErrUnknown, wipe)
			require.Equal(t, 1, wipes)
			n.after = nil
			got, err := s.Reserve(t.Context(), reserve(1))
			require.NoError(t, err)
			require.Equal(t, numberstore.Range{First: 1, Last: 1}, got)
			rawExec(t, db, "DELETE FROM snowlease_segment")
		}
	})
}
