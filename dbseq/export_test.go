package dbseq

import (
	"cmp"
	"context"
	"strings"
	"testing/fstest"

	"github.com/snowlease/snowlease/internal/sqlconn"
	"github.com/snowlease/snowlease/internal/sqlnumbers"
)

// ReadFrom makes c read the clock and, unless it is empty, the incarnation from SQL expressions
// instead of the server's. {clock} is the server's.
func (c *Center) ReadFrom(now, incarnation string) {
	c.store.Set.Clock, c.store.Set.Incarnation = now, incarnation
	if incarnation == "" {
		return
	}
	if err := c.store.Server(context.Background(), true); err != nil {
		panic(err)
	}
}

// Autocommit makes c rely on its pool to commit each statement, as on that of Open.
func (c *Center) Autocommit() {
	c.store.Own = true
	c.numbers, c.store.beside = sqlnumbers.Beside(c.store.Conn)
}

// ClockValues returns how many values a clock has within a statement that reads it in two
// places and in many rows. By default, it is that of the dialect.
func (c *Center) ClockValues(ctx context.Context, now string) (int64, error) {
	text := "-- name: clocks\nSELECT COUNT(DISTINCT ms) FROM (SELECT {now} AS ms FROM ({numbers}) AS a UNION ALL SELECT {now} AS ms FROM ({numbers}) AS b) AS clocks;\n"
	t := tables
	t.Files = fstest.MapFS{
		"sql/clocks.sql":   {Data: []byte(strings.ReplaceAll(text, "{now}", cmp.Or(now, "{now}")))},
		"schema/mysql.sql": {}, "schema/postgres.sql": {}, "schema/sqlite.sql": {},
	}
	b := c.store.Beside(t)
	defer b.Close()
	return sqlconn.Number(ctx, b, "clocks", sqlconn.Args{"pool": int64(100000)})
}
