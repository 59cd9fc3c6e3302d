package dbseq

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// prepare makes the center ready for k. It identifies the server, refuses one with a
// wrong clock or an unreadable incarnation before it writes anything, and creates the
// tables if necessary.
func (c *Center) prepare(ctx context.Context, k *call) error {
	if c.ready.Load() {
		return nil
	}
	select {
	case c.gate <- struct{}{}:
		defer func() { <-c.gate }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := c.server(ctx, false); err != nil || c.ready.Load() {
		return err
	}
	now, err := c.now(ctx)
	if err != nil {
		return err
	}
	if err := k.refuse(now); err != nil {
		return err
	}
	if _, err := c.identify(ctx); err != nil {
		return err
	}
	if err := c.create(ctx, leaseTables); err != nil {
		return err
	}
	c.ready.Store(true)
	return nil
}

// tables are the tables that a file of schema creates.
type tables struct {
	file    string   // name of the file before the dialect
	names   []string // without the prefix
	rights  string   // that the account needs
	damaged string   // what to do about a row that dbseq cannot have written
}

var (
	leaseTables = tables{
		names:   []string{"slot", "ticket", "meta"},
		rights:  "SELECT, INSERT and UPDATE on the tables snowlease_slot and snowlease_meta, and SELECT, INSERT and DELETE on snowlease_ticket",
		damaged: "correct its row or delete it; later grants lie above everything that it may have held",
	}
	segmentTables = tables{
		file:    "segment_",
		names:   []string{"segment"},
		rights:  "SELECT, INSERT and UPDATE on the table snowlease_segment",
		damaged: "set max_id of its row to the greatest number in use anywhere, or of backdated ids to the maximum; without the row, numbers would start over",
	}
)

func (c *conn) definition(t tables) string {
	return "dbseq/schema/" + t.file + string(c.dialect.name) + ".sql"
}

func (c *conn) grants(t tables) string {
	return "grant the account " + strings.ReplaceAll(t.rights, "snowlease_", c.set.Prefix)
}

func (c *conn) hasTable(ctx context.Context, name string) (bool, error) {
	n, err := c.number(ctx, "table", args{"schema": c.schemaName(), "table": c.set.Prefix + name})
	return n > 0, err
}

// missing returns the name of the first missing table.
func (c *conn) missing(ctx context.Context, t tables) (string, error) {
	for _, name := range t.names {
		if ok, err := c.hasTable(ctx, name); err != nil || !ok {
			return name, err
		}
	}
	return "", nil
}

func (c *conn) noTable(t tables, name string) error {
	return fmt.Errorf("there is no table %s: let a process acquire a worker id first, or run %s by hand", c.set.Prefix+name, c.definition(t))
}

// create creates the missing tables. If those that were found are gone, it creates them where another
// start looks for them. A connection of a given pool may lead elsewhere by then, which is refused:
// the tables there would be those of another namespace.
func (c *conn) create(ctx context.Context, t tables) error {
	if h := c.home.Load(); h.there {
		if ok, err := c.hasTable(ctx, c.main); err != nil {
			return err
		} else if !ok {
			now, err := c.find(ctx, c.main)
			if err != nil {
				return err
			}
			if !c.own && now.schema != h.schema {
				return advised{fmt.Errorf("the tables in schema %q are gone, and the search_path leads to %q now: restart the process", h.schema, now.schema)}
			}
			c.home.Store(now)
			c.use(c.statements.Load().now, c.statements.Load().incarnation)
		}
	}
	for _, name := range t.names {
		if err := c.createTable(ctx, t, name); err != nil {
			return err
		}
	}
	return nil
}

// createTable creates a table unless it exists.
func (c *conn) createTable(ctx context.Context, t tables, name string) error {
	for i := 1; ; i++ {
		if ok, err := c.hasTable(ctx, name); err != nil || ok {
			return err
		}
		if !c.set.Migrate {
			return advised{c.noTable(t, name)}
		}
		_, failure := c.pool().ExecContext(ctx, c.named("create "+name).text)
		if failure == nil {
			return nil
		}
		// Another process may have been first. Each engine reports that differently, so
		// look for the table.
		if ok, err := c.hasTable(ctx, name); err == nil && ok {
			return nil
		}
		if i == patience || !c.transient(failure) {
			return fmt.Errorf("create table %s: %w", c.set.Prefix+name, c.checked(failure))
		}
		if err := pause(ctx, time.Duration(i)*10*time.Millisecond); err != nil {
			return err
		}
	}
}
