// Package series issues numbers that begin anew with each period and count for each tenant by
// themselves, with or without gaps, such as INV-2026-11-000042.
//
//	invoices, err := OpenSeries(ctx, store, SeriesConfig{
//		Namespace: "shop", Name: "invoices", Period: Month, Zone: "Europe/Berlin",
//		Format: "INV-{2006}-{01}-{000000}", Gapless: true,
//	})
//	...
//	number, err := invoices.NextTx(ctx, tx, "tenant-7") // and the invoice in the same tx
//
// In a transaction of GORM, tx is gormdb.Tx(tx). The example of NextTx numbers rows in a hook, and
// docs/numbers.md in the repository also drafts that are posted, with GORM and with database/sql.
//
// The store is Numbers of a dbseq.Center. Each scope, such as a tenant, has one row in the table
// snowlease_segment, however many periods pass: the row holds the period and the number as one, such as 202611010000000042, so a
// new period needs no new row, and a past one leaves none behind.
//
// # Guarantees
//
// No number of a scope is issued twice in a period, by any process, as long as the database loses
// no acknowledged write. A scope never goes back: once a process has taken a number of a period,
// the database gives none of an earlier one, whatever the clocks say. A process asks for the period
// that its clock is in. The database refuses that with ErrClock if its own clock
// is more than five minutes outside of the period, so a wrong clock takes no scope into the next
// year.
//
// With Gapless, a number is taken in the transaction that uses it, and a rollback takes it back.
// So numbers have no gaps, rise in the order of commits, and are lost or restored together with
// the rows that they are in. The price is a row lock: until the transaction ends, all others wait
// who ask for a number of the same scope. Take it late in the transaction, and the scopes of one
// transaction in ascending order, so that two transactions do not wait for each other.
//
// Without Gapless, a number that was taken and not used leaves a gap.
//
// If the table loses rows that the application's tables have not lost, a scope starts over. A
// unique index on tenant and number turns that into an error of the insert, so have one.
package numbers
