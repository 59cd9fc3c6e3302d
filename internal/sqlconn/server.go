package sqlconn

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Server determines the kind of the server, once or again, and loads the statements for it.
func (c *Conn) Server(ctx context.Context, again bool) error {
	if c.identity.Load() != nil && !again {
		return nil
	}
	if err := c.Settle(ctx); err != nil {
		return err
	}
	incarnation := cmp.Or(c.Set.Incarnation, c.dialect.incarnation)
	if incarnation == "" {
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
	if !c.Compares() {
		incarnation = ""
	}
	is, err := c.counted(ctx, nil, incarnation)
	if err != nil {
		return err
	}
	c.use(is)
	c.identity.Store(&incarnation)
	return nil
}

// Identity is the incarnation expression that the statements have.
func (c *Conn) Identity() string { return c.statements.Load().incarnation }

// Recount reports whether the server has followed another or left its group since Identity returned was: a
// former primary that lags and is promoted again without a restart has the record of its first time. A
// grant counts only if a Recount after its write reports no change, so a pause before the write does not matter.
func (c *Conn) Recount(ctx context.Context, tx Runner, was string) (changed bool, err error) {
	is, err := c.counted(ctx, tx, *c.identity.Load())
	if err == nil && is != c.Identity() {
		c.use(is)
	}
	return err == nil && is != was, err
}

// counted fills in the sum of the counters, if it is not 0. A second counts as a million, so that no counter makes up for it.
func (c *Conn) counted(ctx context.Context, tx Runner, incarnation string) (string, error) {
	before, after, found := strings.Cut(incarnation, "{demotions}")
	if !found {
		return incarnation, nil
	}
	type counter struct {
		name string
		n    uint64
	}
	counters, err := All(ctx, c, tx, "demotions", nil, func(c *counter) []any { return []any{&c.name, &c.n} })
	sum := uint64(0)
	for _, c := range counters {
		sum += cmp.Or(map[string]uint64{"Uptime": 1e6, "Uptime_since_flush_status": 1<<64 - 1e6}[c.name], 1) * c.n
	}
	return before + strings.TrimSuffix(fmt.Sprintf("/%d", sum), "/0") + after, err
}

// Settle records the schema of the tables, which all later statements name. Another connection
// may lead to another schema after USE or SET search_path of the application. So may a later
// start, if somebody creates a schema that comes first in the search_path.
func (c *Conn) Settle(ctx context.Context) error {
	if c.Answered() {
		return nil
	}
	h, err := c.find(ctx)
	if err == nil {
		c.home.CompareAndSwap(nil, h)
	}
	return err
}

// find returns the schema of the tables that a connection of the pool leads to.
func (c *Conn) find(ctx context.Context) (*home, error) {
	own := int64(0)
	if c.Own {
		own = 1
	}
	var there int64
	found, _, err := One(ctx, c, nil, "home", Args{"table": c.Set.Prefix + c.tables.Names[0], "own": own}, func(schema *sql.NullString) []any { return []any{schema, &there} })
	if err == nil && !found.Valid {
		err = Advise(errors.New("no database or schema is selected: name the database in the DSN, as in user:password@tcp(host:3306)/name, or a schema that exists in the search_path"))
	}
	return &home{found.String, there > 0}, err
}

// Compares reports whether another incarnation counts as a loss.
func (c *Conn) Compares() bool { return !c.Set.Durable }

// settings returns the server settings that matter to leases.
func (c *Conn) settings(ctx context.Context) (map[string]string, error) {
	found, err := All(ctx, c, nil, "settings", nil, func(s *[2]string) []any { return []any{&s[0], &s[1]} })
	has := map[string]string{}
	for _, s := range found {
		has[s[0]] = s[1]
	}
	return has, err
}

// Identify reads the incarnation in a separate statement, so that the error can include a remedy.
func (c *Conn) Identify(ctx context.Context) (string, error) {
	if !c.Compares() {
		return "", nil
	}
	_, err := c.Recount(ctx, nil, "")
	id := sql.NullString{}
	if err == nil {
		id, _, err = One(ctx, c, nil, "incarnation", nil, Column[sql.NullString])
	}
	switch {
	case err == nil && id.String != "":
		return id.String, nil
	case err == nil:
		err = errors.New("it is empty")
	case !c.is(err, c.dialect.unreadable):
		return "", err // of the connection or a starting server, so it may be temporary
	}
	return "", Advise(fmt.Errorf("read which server this is, to detect a failover: %w: let the account run %q, or set durable: true (dbseq.WithDurable) if the database loses no acknowledged write",
		err, c.named("incarnation").text))
}
