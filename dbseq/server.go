package dbseq

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// server finds out which kind of server it is, once or again, and loads the statements
// for it.
func (c *conn) server(ctx context.Context, again bool) error {
	if c.known.Load() && (!again || c.dialect.name != MySQL) {
		return nil
	}
	incarnation := c.dialect.incarnation
	if incarnation == "" {
		has, err := c.settings(ctx)
		if err != nil {
			return err
		}
		if incarnation, err = c.variantOf(has); err != nil {
			return err
		}
	}
	if c.dialect.name == SQLite {
		if err := c.onePath(ctx, "/proc/self/mountinfo"); err != nil {
			return err
		}
	}
	if c.dialect.name == SQLite && !c.own {
		if err := c.oneDatabase(ctx); err != nil {
			return err
		}
	}
	if !c.compares() {
		incarnation = ""
	}
	c.use(c.dialect.clock, incarnation)
	return nil
}

// oneDatabase returns an error if two connections of the caller's pool see two databases
// in memory. Each would lend the same worker ids and numbers.
func (c *conn) oneDatabase(ctx context.Context) error {
	file, _, err := one(ctx, c, "file", nil, column[sql.NullString])
	if err != nil || file.String != "" || c.pool().Stats().MaxOpenConnections == 1 {
		return err
	}
	conns, err := c.two(ctx)
	if err != nil {
		return err
	}
	defer conns[0].Close()
	defer conns[1].Close()
	// Others probe at the same time, so each call looks for a number of its own.
	n := args{"n": rand.Int64()}
	return c.patiently(ctx, func() error {
		for _, name := range []string{"probe", "mark"} {
			if _, err := c.execOn(ctx, conns[0], name, n); err != nil {
				return err
			}
		}
		seen, err := query(ctx, conns[1], c.named("marked"), n, column[int64])
		if c.tableMissing(err) || err == nil && seen[0] == 0 {
			err = advised{errors.New("each connection of the pool has a database in memory of its own: put the database in a file, or call SetMaxOpenConns(1) on the pool")}
		}
		return err
	})
}

// two takes two connections from the pool. It holds one only for a moment while it waits
// for the other, since others may do the same.
func (c *conn) two(ctx context.Context) (conns [2]*sql.Conn, err error) {
	for {
		if conns[0], err = c.pool().Conn(ctx); err != nil {
			return conns, err
		}
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		conns[1], err = c.pool().Conn(short)
		cancel()
		if err == nil {
			return conns, nil
		}
		err = errors.Join(err, conns[0].Close())
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return conns, err
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return conns, err
		}
	}
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

// variantOf returns the incarnation expression for MySQL or MariaDB, by the variables of
// the server.
func (c *conn) variantOf(has map[string]string) (string, error) {
	switch {
	case has["autocommit"] == "OFF":
		return "", errAutocommit
	case has["completion_type"] == "CHAIN":
		return "", advised{errors.New("completion_type is CHAIN, so leases would never be committed after a transaction: use a pool with completion_type=0 in its DSN")}
	case has["server_uuid"] != "" && has["binlog_format"] == "STATEMENT" && c.compares():
		// A replica that runs the statement again records its own server_uuid, and a
		// promotion that loses grants would pass unnoticed. MariaDB replicates the
		// primary's server_id.
		return "", advised{errors.New("binlog_format is STATEMENT, so replicas would record themselves as the server that lent the worker ids: set it to ROW or MIXED, or set quarantine: never (dbseq.WithQuarantine) if the database loses no acknowledged write")}
	case has["server_uuid"] != "":
		return incarnationMySQL, nil
	}
	return incarnationMariaDB, nil
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
