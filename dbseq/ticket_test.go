package dbseq_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
)

// The greatest ticket that a table can hold is the last one of all namespaces; on MySQL
// and SQLite even after its deletion. Worker ids are lent without tickets.
func TestTicketsAreUsedUp(t *testing.T) {
	t.Parallel()
	onEachCenter(t, func(t *testing.T, e engine, db *gorm.DB, c *dbseq.Center) {
		held := map[int64]bool{first(t, c, request("orders", 8)).Worker: true}
		rawExec(t, db, "INSERT INTO snowlease_ticket (id, ns, owner) VALUES (9223372036854775807, 'other', '')")
		if e.speaks == "postgres" {
			rawExec(t, db, "SELECT setval(pg_get_serial_sequence('snowlease_ticket', 'id'), 9223372036854775807)")
		}
		draw := db.Exec("INSERT INTO snowlease_ticket (ns, owner) VALUES ('other', '')")
		require.Error(t, draw.Error, "no ticket is left")
		for range 3 {
			held[acquire(t, c, request("orders", 8)).Worker] = true
		}
		rawExec(t, db, "DELETE FROM snowlease_ticket")
		for range 4 {
			held[acquire(t, c, request("orders", 8)).Worker] = true
		}
		require.Len(t, held, 8)
		others := request("others", 8)
		require.NoError(t, c.Extras().Init(t.Context(), others))
		acquire(t, c, others)
	})
}

// TestTicketsAreDropped: worker ids are leased without the table of tickets, by accounts that may
// not create it.
func TestTicketsAreDropped(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		first(t, center(t, db), request("orders", 8))
		c := center(t, db, dbseq.WithoutMigrate())
		g := acquire(t, c, request("orders", 8))
		rawExec(t, db, "DROP TABLE snowlease_ticket")
		acquire(t, c, request("orders", 8))
		_, err := c.Renew(t.Context(), g)
		require.NoError(t, err)
		require.NoError(t, c.Release(t.Context(), g, g.Floor))
	})
}

// A ticket was inserted by hand at the next value of the PostgreSQL sequence.
func TestTicketIsTaken(t *testing.T) {
	t.Parallel()
	e := engines[2]
	db := e.db(t, e.dsn(t))
	c := center(t, db)
	first(t, c, request("orders", 8))
	rawExec(t, db, "INSERT INTO snowlease_ticket (id, ns, owner) SELECT n, 'other', '' FROM generate_series(2, 4) AS n")
	acquire(t, c, request("orders", 8))
	acquire(t, c, request("orders", 8))
}

// TestTicketIsLocked: a ticket that cannot be deleted does not hold up a grant until the
// caller has given up.
func TestTicketIsLocked(t *testing.T) {
	onThose(t, "mysql postgres", func(t *testing.T, e engine, dsn string) { // SQLite locks no rows
		db := e.db(t, dsn)
		c := center(t, db)
		require.NoError(t, c.Extras().Init(t.Context(), request("orders", 1)))
		rawExec(t, db, "INSERT INTO snowlease_ticket (id, ns, owner) VALUES (1000, 'orders', '')")
		rawExec(t, db, "UPDATE snowlease_slot SET ticket = 1000")
		other := db.Begin()
		defer other.Rollback()
		require.EqualValues(t, 1000, number(t, other, "SELECT id FROM snowlease_ticket WHERE id = 1000 FOR UPDATE"))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := c.Acquire(ctx, request("orders", 1))
		require.NoError(t, err)
		require.NoError(t, ctx.Err())
	})
}
