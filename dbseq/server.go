package dbseq

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
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

// settle notes where the first connection finds tables. Another one, or a transaction that
// numbers are taken in, may be elsewhere: after USE or SET search_path of the application, or
// since somebody created a schema in the search_path. There the namespace seems new, and worker
// ids that are in use would be lent again.
func (c *conn) settle(ctx context.Context) error {
	if c.dialect.home == "" || c.home.Load() != nil {
		return nil
	}
	found, _, err := one(ctx, c, "home", nil, column[sql.NullString])
	if err != nil {
		return err
	}
	if !found.Valid {
		return advised{errors.New("no database is selected: name the database in the DSN, as in user:password@tcp(host:3306)/name")}
	}
	if c.own && c.dialect.name == Postgres { // of a pooler, which may share it with another client
		if n, err := c.number(ctx, "path"); err != nil || n > 0 {
			return cmp.Or(err, errors.New("another search_path was set on a connection"))
		}
	}
	if err := c.compareHomes(ctx, found.String); err != nil {
		return err
	}
	c.home.CompareAndSwap(nil, &found.String)
	return nil
}

// compareHomes looks at two connections at once, of which one is probably new. It ignores
// errors, since the pool may have no second one to give.
func (c *conn) compareHomes(ctx context.Context, home string) error {
	if c.own || c.pool().Stats().MaxOpenConnections == 1 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	first, err := c.pool().Conn(ctx)
	if err != nil {
		return nil
	}
	defer first.Close()
	second, err := c.pool().Conn(ctx)
	if err != nil {
		return nil
	}
	defer second.Close()
	for _, on := range []runner{first, second} {
		if found, err := query(ctx, on, c.named("home"), nil, column[sql.NullString]); err == nil && found[0].String != home {
			return c.movedFrom(home, found[0].String)
		}
	}
	return nil
}

// noClock returns why a clock was NULL.
func (c *conn) noClock(ctx context.Context, on runner) error {
	home := c.home.Load()
	if home == nil {
		return errAutocommit
	}
	found, err := query(ctx, on, c.named("home"), nil, column[sql.NullString])
	if err != nil {
		return err
	}
	if found[0].String == *home && c.dialect.name == MySQL {
		return errAutocommit
	}
	return c.movedFrom(*home, found[0].String)
}

func (c *conn) movedFrom(home, found string) error {
	do := "use a pool where nothing changes that, or dbseq.Open"
	if c.own {
		do = "give it transactions of its own database only, behind a pooler an account of its own, and the account one search_path, with ALTER ROLE"
	}
	return advised{fmt.Errorf("a connection of the pool is in %s, the first one was in %s: %s", homeName(found), homeName(home), do)}
}

// homeName returns the database or the schemas of a home, for people.
func homeName(home string) string {
	name, _ := hex.DecodeString(home) // what the server has encoded
	return strconv.Quote(text(printable.Text(strings.Trim(string(name), "{}")), 40))
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
