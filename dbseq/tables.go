package dbseq

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowlease/snowlease/lease"
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

func (c *conn) hasTable(ctx context.Context, on runner, name string) (bool, error) {
	n, err := allOn(ctx, c, on, "table", args{"table": c.set.Prefix + name}, func(n *int64) []any { return []any{new(clock), n} })
	return err == nil && n[0] > 0, err
}

// missing returns the name of the first missing table.
func (c *conn) missing(ctx context.Context, t tables) (string, error) {
	for _, name := range t.names {
		if ok, err := c.hasTable(ctx, c.pool(), name); err != nil || !ok {
			return name, err
		}
	}
	return "", nil
}

func (c *conn) noTable(t tables, name string) error {
	return fmt.Errorf("there is no table %s: let a process acquire a worker id first, or run %s by hand", c.set.Prefix+name, c.definition(t))
}

// create creates the missing tables.
func (c *conn) create(ctx context.Context, t tables) error {
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
		if ok, err := c.hasTable(ctx, c.pool(), name); err != nil || ok {
			return err
		}
		if !c.set.Migrate {
			return advised{c.noTable(t, name)}
		}
		failure := c.createOn(ctx, name)
		if failure == nil || errors.Is(failure, lease.ErrSetup) {
			return failure
		}
		// Another process may have been first. Each engine reports that differently, so
		// look for the table.
		if ok, err := c.hasTable(ctx, c.pool(), name); err == nil && ok {
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

// createOn creates a table on a connection. In a shared pool, that is one on which the table
// was looked for, since others may have been moved.
func (c *conn) createOn(ctx context.Context, name string) (err error) {
	if c.own {
		_, err := c.pool().ExecContext(ctx, c.creation(name))
		return err
	}
	on, err := c.pool().Conn(ctx)
	if err != nil {
		return err
	}
	defer on.Close()
	if ok, err := c.hasTable(ctx, on, name); err != nil || ok {
		return err
	}
	_, err = on.ExecContext(ctx, c.creation(name))
	return err
}

// creation returns the statement that creates a table. A pool of the application may set a
// search_path for a reason, but keeps that of its first connection. A pooler may move a
// connection between two statements.
func (c *conn) creation(name string) string {
	text := c.named("create " + name).text
	if c.dialect.guard == nil {
		return text
	}
	moved := ""
	if home := c.home.Load(); home != nil && !c.own {
		moved = c.dialect.home + " <> '" + *home + "'"
	}
	return c.dialect.guard(text, moved)
}
