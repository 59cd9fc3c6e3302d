package dbseq

import (
	"cmp"
	"context"
	"strings"
)

// ReadFrom makes c read the clock and, unless it is empty, the incarnation from SQL expressions
// instead of the server's. {clock} is the server's.
func (c *Center) ReadFrom(now, incarnation string) {
	d := *c.dialect
	d.clock = strings.ReplaceAll(now, "{clock}", d.clock)
	c.dialect = &d
	if incarnation == "" {
		return
	}
	d.variant = nil
	if err := c.settle(context.Background()); err != nil {
		panic(err)
	}
	c.use(d.clock, incarnation)
}

// Autocommit makes c rely on its pool to commit each statement, as on that of Open.
func (c *conn) Autocommit() { c.own = true }

// Dialect returns the dialect that c speaks.
func (c *Center) Dialect() Dialect { return c.dialect.name }

// Files returns for each dialect whether it is a file.
func Files() map[Dialect]bool {
	files := map[Dialect]bool{}
	for name, d := range dialects {
		files[name] = d.file
	}
	return files
}

// ClockValues returns how many values a clock has within a statement that reads it in two
// places and in many rows. By default, it is that of the dialect.
func (c *Center) ClockValues(ctx context.Context, now string) (int64, error) {
	from := " FROM (" + strings.ReplaceAll(c.dialect.numbers, ":pool", "100000") + ") AS "
	text := c.dialect.write("SELECT COUNT(DISTINCT ms) FROM (SELECT {now} AS ms" + from + "a UNION ALL SELECT {now}" + from + "b) AS clocks")
	text = strings.ReplaceAll(text, "{now}", cmp.Or(now, c.dialect.clock))
	found, err := query(ctx, c.pool(), statement{text: text}, nil, column[int64])
	if err != nil {
		return 0, err
	}
	return found[0], nil
}
