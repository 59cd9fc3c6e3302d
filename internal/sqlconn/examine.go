package sqlconn

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/findings"
	"github.com/snowlease/snowlease/lease"
)

// Examine checks the database, its settings and the account's rights.
func (c *Conn) Examine(ctx context.Context) []lease.Finding {
	x := examination{Conn: c}
	x.clock(ctx)
	has, err := c.settings(ctx)
	if err = cmp.Or(c.Settle(ctx), err); err != nil {
		x.Unknown("settings", err)
		x.Unknown("rights", err)
	} else {
		c.dialect.examine(&x, ctx, has)
		x.rights(ctx)
		x.engines(ctx)
	}
	if !c.dialect.file {
		x.encryption(ctx)
	}
	return x.List
}

// An examination is one call of Examine.
type examination struct {
	findings.List
	*Conn
}

func (x *examination) clock(ctx context.Context) {
	before := time.Now()
	if now, err := x.Now(ctx, nil); err != nil {
		x.Unknown("clock", err)
	} else {
		x.Clock(time.UnixMilli(now), before, time.Now())
	}
}

// encryption judges one connection of the pool.
func (x *examination) encryption(ctx context.Context) {
	cipher, _, err := One(ctx, x.Conn, nil, "cipher", nil, func(s *[2]string) []any { return []any{&s[0], &s[1]} })
	client := ""
	if err == nil {
		client, _, err = One(ctx, x.Conn, nil, "client", nil, Column[string])
	}
	if err != nil {
		x.Unknown("encryption", err)
	} else {
		x.Encryption(cipher[1], client)
	}
}

const (
	useThePrimary = "the server is a replica, or it or the session is read-only: use the address of the primary"
	makeWritable  = "make the file and its folder writable, without mode=ro in the DSN"
)

const durable = "a crash loses acknowledged writes, which repeats numbers of segments, and ids with durable: true: "

// replication judges asynchronous replicas, if there are any. It adds nothing if the account may
// not list them.
func (x *examination) replication(ctx context.Context, seen, advice string) {
	if n, err := Number(ctx, x.Conn, "replicas", nil); err == nil && n > 0 {
		x.loses(fmt.Sprint(n, " ", seen), advice)
	}
}

// waits notes replicas beyond the number that a commit waits for. An empty number means 1.
func (x *examination) waits(ctx context.Context, number string) {
	waits, err := strconv.ParseInt(cmp.Or(number, "1"), 10, 64)
	if n, failed := Number(ctx, x.Conn, "replicas", nil); err == nil && failed == nil && n > waits && !x.Compares() {
		x.Note("replication", fmt.Sprintf("%d replicas, commits wait for %d", n, waits), "a failover to one that lags loses acknowledged grants: promote the one that has received most, or let commits wait for all")
	}
}

// loses adds a finding that a failover loses acknowledged writes.
func (x *examination) loses(seen, advice string) {
	x.Table("replication", seen,
		findings.Note(x.Compares(), "a failover may lose acknowledged grants: a quarantine follows, and ids stay unique unless two primaries run at once: "+advice+" avoids both"),
		findings.Fault(true, "durable: true promises that no acknowledged write is lost, and a failover here loses some: "+advice+", or set durable: false"))
}

// A setting is a row of a doctor's table: a setting of the server, the values that are faults,
// and the remedy.
type setting struct{ check, name, faults, advice string }

// settings judges the settings that the server has.
func (x *examination) settings(has map[string]string, table []setting) {
	for _, s := range table {
		if value, there := has[s.name]; there {
			x.Judge(slices.Contains(strings.Fields(s.faults), value), s.check, s.name+" is "+value, s.advice)
		}
	}
}

// rights tries the statements that leases need on each table.
func (x *examination) rights(ctx context.Context) {
	var missing []string
	for _, name := range x.tables.Names {
		switch ok, err := x.hasTable(ctx, name); {
		case err != nil:
			x.Unknown("rights", err)
			return
		case !ok:
			missing = append(missing, x.Set.Prefix+name)
		case !x.may(ctx, name):
			return
		}
	}
	if len(missing) == 0 {
		x.OK("rights", "the account may read and write the tables")
		return
	}
	may, err := Number(ctx, x.Conn, "maycreate", Args{"schema": x.home.Load().schema})
	if err != nil {
		x.Unknown("rights", err)
		return
	}
	x.Judge(may == 0, "rights", fmt.Sprintf("there is no table %s; the account may create it: %v", strings.Join(missing, ", "), may > 0),
		"run "+x.definition()+" once manually, and "+x.grants())
}

// may tries the statements that leases need on a table, without touching a row.
func (x *examination) may(ctx context.Context, table string) bool {
	at, change := x.qualified()+table, "UPDATE %s SET ns = ns WHERE 1 = 0"
	if table == "ticket" {
		change = "DELETE FROM %s WHERE 1 = 0"
	}
	for _, text := range []string{"SELECT * FROM %s WHERE 1 = 0", "INSERT INTO %s SELECT * FROM %[1]s WHERE 1 = 0", change} {
		_, err := x.Pool().ExecContext(ctx, fmt.Sprintf(text, at))
		if err == nil {
			continue
		}
		verb, _, _ := strings.Cut(text, " ")
		seen := fmt.Sprintf("%s on %s: %v", verb, x.Set.Prefix+table, err)
		switch {
		case !x.readOnly(err):
			x.Fault("rights", seen, x.grants())
		case x.dialect.file:
			x.Fault("rights", seen, makeWritable)
		case !slices.ContainsFunc(x.List, func(f lease.Finding) bool { return f.Level == lease.LevelFault && f.Check == "primary" }):
			x.Fault("primary", seen, useThePrimary)
		}
		return false
	}
	return true
}

// engines checks that the tables survive a crash.
func (x *examination) engines(ctx context.Context) {
	if x.dialect.file {
		return
	}
	for _, name := range x.tables.Names {
		table := x.Set.Prefix + name
		engine, there, err := One(ctx, x.Conn, nil, "engine", Args{"schema": x.home.Load().schema, "table": table}, Column[string])
		if err != nil {
			x.Unknown("engine", err)
		} else if there {
			x.Fault("engine", table+" is "+engine, "it loses writes in a crash: ALTER TABLE "+table+" "+x.dialect.crashSafe)
		}
	}
}
