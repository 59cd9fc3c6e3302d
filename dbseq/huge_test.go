//go:build prove

package dbseq_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// TestHugeTexts: no call reads a text of 60 MB in a pin or a holder, or one of 8 MB in
// another column, into memory.
func TestHugeTexts(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			db := e.db(t, e.dsn(t))
			s := &store{db: db, compared: true}
			c := center(t, db)
			held := first(t, c, request("orders", 4))
			restore := s.Snapshot(t)
			columns := map[string]string{"pin": "meta", "incarnation": "meta", "former": "meta", "reason": "meta", "holder": "slot", "owner": "slot"}
			for column, table := range columns {
				switch e.speaks {
				case "mysql":
					rawExec(t, db, "ALTER TABLE snowlease_"+table+" MODIFY "+column+" LONGTEXT NOT NULL")
				case "postgres":
					rawExec(t, db, "ALTER TABLE snowlease_"+table+" ALTER COLUMN "+column+" TYPE TEXT")
				}
			}
			for column, table := range columns {
				restore()
				size := 8 << 20
				if column == "pin" || column == "holder" {
					size = 60 << 20
				}
				huge := fmt.Sprintf("REPEAT('9', %d)", size)
				switch e.speaks {
				case "mysql":
					huge = fmt.Sprintf("REPEAT('9', LEAST(%d, @@max_allowed_packet - 1))", size)
				case "sqlite":
					huge = fmt.Sprintf("REPLACE(HEX(ZEROBLOB(%d)), '0', 'x')", size/2)
				}
				one := ""
				if table == "slot" {
					one = fmt.Sprintf(" WHERE slot = %d", held.Worker)
				}
				rawExec(t, db, "UPDATE snowlease_"+table+" SET "+column+" = "+huge+one)
				require.Greater(t, number(t, db, "SELECT MAX(LENGTH("+column+")) FROM snowlease_"+table), int64(min(size, 15<<20)-1))
				for verb, do := range map[string]func(ctx context.Context) error{
					"acquire":    func(ctx context.Context) error { _, err := c.Acquire(ctx, request("orders", 4)); return err },
					"renew":      func(ctx context.Context) error { _, err := c.Renew(ctx, held); return err },
					"init":       func(ctx context.Context) error { return c.Extras().Init(ctx, request("orders", 4)) },
					"slots":      func(ctx context.Context) error { _, err := c.Extras().Lister.Slots(ctx, "orders"); return err },
					"namespaces": func(ctx context.Context) error { _, err := c.Extras().Namespaces(ctx); return err },
					"record":     func(ctx context.Context) error { _, err := c.Extras().Operator.Record(ctx, "orders"); return err },
					"release":    func(ctx context.Context) error { return c.Release(ctx, held, held.Floor) },
					"retire":     func(ctx context.Context) error { return c.Extras().Operator.Retire(ctx, "orders", "by hand") },
				} {
					bounded(t, fmt.Sprintf("%s of %s: %s", column, table, verb), 4<<20, do)
				}
			}
		})
	}
}

// bounded requires that a call allocates less than the limit, and that its error is short.
func bounded(t *testing.T, what string, limit uint64, do func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := do(ctx)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, limit, what)
	require.NoError(t, ctx.Err(), what)
	if err != nil {
		require.Less(t, len(err.Error()), 2500, what)
		require.Equal(t, -1, strings.IndexFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }), what)
		require.NotErrorIs(t, err, lease.ErrSetup, what)
	}
}
