package dbseq

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/snowlease/snowlease/lease"
)

// server finds out which kind of server it is, once or again, and loads the statements
// for it.
func (c *conn) server(ctx context.Context, again bool) error {
	if c.known.Load() && (!again || c.dialect.variant == nil) {
		return nil
	}
	if err := c.settle(ctx); err != nil {
		return err
	}
	incarnation := c.dialect.incarnation
	if c.dialect.variant != nil {
		has, err := c.settings(ctx)
		if err != nil {
			return err
		}
		if incarnation, err = c.dialect.variant(c, has); err != nil {
			return err
		}
	}
	if c.dialect.check != nil {
		if err := c.dialect.check(ctx, c); err != nil {
			return err
		}
	}
	if !c.compares() {
		incarnation = ""
	}
	c.use(c.dialect.clock, incarnation)
	return nil
}

// settle notes the schema of the tables, which all later statements name. It may not be that of
// another connection, after USE or SET search_path of the application, or of a later start, if
// somebody creates a schema that comes first in the search_path.
func (c *conn) settle(ctx context.Context) error {
	if c.home.Load() != nil {
		return nil
	}
	h, err := c.find(ctx, c.main)
	if err == nil {
		c.home.CompareAndSwap(nil, h)
	}
	return err
}

// find returns the schema of a table that a connection of the pool leads to.
func (c *conn) find(ctx context.Context, table string) (*home, error) {
	own := int64(0)
	if c.own {
		own = 1
	}
	var there int64
	found, _, err := one(ctx, c, "home", args{"table": c.set.Prefix + table, "own": own}, func(schema *sql.NullString) []any { return []any{schema, &there} })
	if err == nil && !found.Valid {
		err = advised{errors.New("no database or schema is selected: name the database in the DSN, as in user:password@tcp(host:3306)/name, or a schema that exists in the search_path")}
	}
	return &home{found.String, there > 0}, err
}

// compares reports whether another incarnation counts as a loss.
func (c *conn) compares() bool { return c.set.Quarantine != lease.QuarantineNever }

// settings returns the server settings that matter to leases.
func (c *conn) settings(ctx context.Context) (map[string]string, error) {
	type setting struct{ name, value string }
	found, err := all(ctx, c, "settings", nil, func(s *setting) []any { return []any{&s.name, &s.value} })
	has := map[string]string{}
	for _, s := range found {
		has[s.name] = s.value
	}
	return has, err
}

// identify reads the incarnation in a separate statement, so that the error can say what
// to do.
func (c *conn) identify(ctx context.Context) (string, error) {
	if !c.compares() {
		return "", nil
	}
	id, _, err := one(ctx, c, "incarnation", nil, column[sql.NullString])
	switch {
	case err == nil && id.String != "":
		return id.String, nil
	case err == nil:
		err = errors.New("it is empty")
	case !c.is(err, c.dialect.unreadable):
		return "", err // of the connection or a starting server: it may pass
	}
	return "", advised{fmt.Errorf("read which server this is, to notice a failover: %w: let the account run %q, or set quarantine: never (dbseq.WithQuarantine) if the database loses no acknowledged write",
		err, c.named("incarnation").text)}
}
