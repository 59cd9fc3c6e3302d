//go:build prove

package dbseq_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers/segment"
)

// harms are bad values for a column, as far as its type allows them.
var harms = map[string]any{
	"-1": -1, "-2^63": int64(math.MinInt64), "2^63-1": int64(math.MaxInt64), "1e15": int64(1e15),
	"empty": "", "text": "soon\x1b[2J\n", "1 MB": strings.Repeat("9", 1<<20), "NULL": nil,
}

// absurd matches numbers computed from invalid ones.
var absurd = regexp.MustCompile(`expires in 0s|until -|at -\d|-29227|[Oo]ut of range|overflow`)

func TestHarmedRows(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		s := &store{db: db, compared: true}
		c, n := center(t, db), segments(t, db)
		held := first(t, c, request("orders", 4))
		given := acquire(t, c, request("orders", 4))
		require.NoError(t, c.Release(t.Context(), given, given.Floor))
		numbers := numberstore.Request{Name: "orders", N: 10, Start: 100, Max: 1 << 60, Create: true}
		first, err := n.Reserve(t.Context(), numbers)
		require.NoError(t, err)
		slots := s.Snapshot(t)
		restore := func() {
			slots()
			rawExec(t, db, "UPDATE snowlease_segment SET max_id = ?, first_id = ?, seen_ms = 1", first.Last, first.First)
		}
		rows := func() (all []any) {
			for _, table := range []string{"slot", "meta", "segment"} {
				rows, err := db.Raw("SELECT * FROM snowlease_" + table + " ORDER BY 1, 2").Rows()
				require.NoError(t, err)
				defer rows.Close()
				columns, err := rows.Columns()
				require.NoError(t, err)
				for rows.Next() {
					row := make([]any, len(columns))
					for i := range row {
						row[i] = new(any)
					}
					require.NoError(t, rows.Scan(row...))
					all = append(all, row)
				}
				require.NoError(t, rows.Err())
			}
			return all
		}
		call := func(what string, before []any, verb func(ctx context.Context) error) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			err := verb(ctx)
			if err == nil {
				return
			}
			require.NoError(t, ctx.Err(), what)
			text := err.Error()
			assert.Less(t, len(text), 1500, what)
			assert.Equal(t, -1, strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }), "%s: %q", what, text)
			assert.NotRegexp(t, absurd, text, what)
			if errors.Is(err, lease.ErrDamaged) {
				advice := "correct its row or delete it"
				if strings.Contains(what, "of name =") {
					advice = "set max_id of its row to the greatest number in use" // without the row, numbers would start over
				}
				assert.Contains(t, text, advice, what)
				assert.Equal(t, before, rows(), "%s: written to by what says that it is damaged", what)
				return
			}
			answer := errors.As(err, new(*lease.QuarantineError)) || errors.As(err, new(*lease.MismatchError)) || errors.As(err, new(*lease.NoFreeWorkerError))
			for _, known := range []error{lease.ErrLost, lease.ErrExists, lease.ErrUnknown, segment.ErrUnknown, segment.ErrExists, segment.ErrEnd} {
				answer = answer || errors.Is(err, known)
			}
			assert.True(t, answer, "neither an answer nor damage: %s: %v", what, err)
		}
		all := func(what string) {
			g := held
			for _, step := range []struct {
				verb string
				do   func(ctx context.Context) error
			}{
				{"record", func(ctx context.Context) error { _, err := c.Extras().Operator.Record(ctx, "orders"); return err }},
				{"slots", func(ctx context.Context) error { _, err := c.Extras().Lister.Slots(ctx, "orders"); return err }},
				{"init", func(ctx context.Context) error { return c.Extras().Init(ctx, request("orders", 4)) }},
				{"acquire", func(ctx context.Context) error {
					got, err := c.Acquire(ctx, request("orders", 4))
					if err == nil && got.Worker == held.Worker && got.Floor < held.Ceiling {
						return fmt.Errorf("%v overlaps %v", got, held)
					}
					return err
				}},
				{"acquire one", func(ctx context.Context) error {
					req := request("orders", 4)
					req.First, req.Last = held.Worker, held.Worker
					got, err := c.Acquire(ctx, req)
					if err == nil && got.Floor < held.Ceiling {
						return fmt.Errorf("%v overlaps %v", got, held)
					}
					return err
				}},
				{"acquire again", func(ctx context.Context) error { _, err := c.Acquire(ctx, held.Request); return err }},
				{"renew", func(ctx context.Context) error {
					r, err := c.Renew(ctx, g)
					if err == nil {
						require.Less(t, r.Ceiling, int64(1e15), what)
						require.Zero(t, number(t, db, "SELECT COUNT(*) FROM snowlease_slot WHERE ns = 'orders' AND slot = ? AND ver > 1000000000000000", held.Worker), what)
						g = r
					}
					return err
				}},
				{"quarantine", func(ctx context.Context) error {
					_, err := c.Extras().Operator.Quarantine(ctx, "orders", "by hand")
					return err
				}},
				{"revoke", func(ctx context.Context) error {
					return c.Extras().Operator.Revoke(ctx, "orders", given.Worker, given.Token)
				}},
				{"revoke another", func(ctx context.Context) error {
					return c.Extras().Operator.Revoke(ctx, "orders", held.Worker, g.Token)
				}},
				{"release", func(ctx context.Context) error { return c.Release(ctx, g, g.Now) }},
				{"retire", func(ctx context.Context) error { return c.Extras().Operator.Retire(ctx, "orders", "by hand") }},
			} {
				call(what+": "+step.verb, rows(), step.do)
			}
		}
		each := func(table, where string, columns []string, verbs func(what string)) {
			for _, column := range columns {
				all := maps.Clone(harms)
				// They compare with the true value as others do not, or only here.
				all["followed by a space"], all["a blob"] = gorm.Expr("CONCAT("+column+", ' ')"), gorm.Expr("CAST("+column+" AS BLOB)")
				for name, value := range all {
					restore()
					if db.Exec("UPDATE snowlease_"+table+" SET "+column+" = ? WHERE "+where, value).Error == nil {
						verbs(fmt.Sprintf("%s of %s is %s", column, where, name))
					}
				}
			}
		}
		each("meta", "ns = 'orders'", []string{"pin", "incarnation", "former", "quarantine_ms", "reason"}, all)
		each("slot", fmt.Sprint("ns = 'orders' AND slot = ", held.Worker),
			[]string{"slot", "owner", "holder", "token", "ver", "ticket", "seen_ms", "since_ms", "floor_ms", "expires_ms", "hwm_ms"}, all)
		each("slot", fmt.Sprint("ns = 'orders' AND slot = ", given.Worker), []string{"token", "ver", "expires_ms", "hwm_ms"}, all)
		each("segment", "name = 'orders'", []string{"first_id", "max_id", "seen_ms"}, func(what string) {
			call(what+": reserve", rows(), func(ctx context.Context) error {
				r, err := n.Reserve(ctx, numbers)
				if err == nil {
					require.Greater(t, r.First, first.Last, what)
				}
				return err
			})
			call(what+": look", rows(), func(ctx context.Context) error { _, err := n.Given(ctx, "orders"); return err })
			call(what+": create", rows(), func(ctx context.Context) error { return n.Create(ctx, "orders", 5) })
		})
	})
}
