// Package numbers issues small numbers, such as order, invoice or member numbers. A Segment is a
// sequence that may have gaps. A Series begins again with each period, counts each tenant separately,
// prints numbers such as INV-2026-11-000042, and can be free of gaps.
//
//	members, err := numbers.OpenSegment(ctx, store, numbers.SegmentConfig{Namespace: "shop", Name: "members"})
//	number, err := members.Next(ctx)
//
//	invoices, err := numbers.OpenSeries(ctx, store, numbers.SeriesConfig{
//		Namespace: "shop", Name: "invoices", Period: numbers.Month, Zone: "Europe/Berlin",
//		Format: "INV-{2006}-{01}-{000000}", Gapless: true,
//	})
//	number, err := invoices.NextTx(ctx, tx, "tenant-7") // and the invoice in the same tx
//
// The store is Numbers of a dbseq.Center, such as one on SQLite in a test. For a Segment it may also be
// redisseq.Numbers. If numbers need not be small, use package snowlease: its ids need no round trip
// and carry their time.
//
// # Segments
//
// No number is issued twice, by any process, as long as the store does not lose a reservation that it
// has acknowledged. If the reply to a reservation is lost, its numbers are skipped. Numbers that a
// process has prefetched when it ends are never issued.
//
// A process that is copied with its memory, such as a virtual machine restored from a snapshot, is not
// covered: both copies issue the numbers that were prefetched. See Segment.Reset. A strict Segment
// prefetches nothing.
//
// Each number is greater than all numbers that the same Segment issued before the call. By default,
// processes prefetch, so a number costs an atomic add, and one process may issue 1,001 while another
// still issues 17. With SegmentConfig.Strict, each call asks the store, and numbers ascend across all
// processes. redisseq.Dispenser puts Redis in front of a SQL store, so that the round trip goes to
// Redis.
//
// A Segment holds the current segment and at least one behind it, which is reserved as soon as the
// current one is begun. Their size follows the rate, so that one lasts SegmentConfig.Cover. At a steady
// rate no caller waits as long as the store answers within that time, and a shorter outage goes
// unnoticed. The default of 10 s covers a restart or a failover of a database, costs one request in
// 10 s per process, and leaves a gap of about 20 s' worth of numbers after a crash. A burst after low
// load waits for the store: sizes grow up to eightfold with each reservation. A batch that has to wait
// has its whole size reserved at once.
//
// # Series
//
// Each scope of a series, such as a tenant, has one row in the table snowlease_segment, which holds the
// period and the number as one, such as 202611010000000042. So a new period needs no new row.
//
// No number of a scope is issued twice in a period, by any process, as long as the database loses no
// acknowledged write. A scope never goes back: once a process has taken a number of a period, the
// database gives none of an earlier one, whatever the clocks say. A process asks for the period that
// its clock is in. The database refuses that with ErrClock if its own clock is more than five minutes
// outside of the period, so a wrong clock takes no scope into the next year.
//
// With Gapless, a number is taken in the transaction that uses it, and a rollback takes it back. So
// numbers have no gaps, ascend in the order of commits, and are lost or restored together with their
// rows. The price is a row lock: until the transaction ends, other callers asking for a number of the
// same scope block. Take it late in the transaction, and the scopes of one transaction in ascending
// order, so that two transactions do not wait for each other.
//
// If the table loses rows that the application's tables have not lost, a scope starts over. A unique
// index on tenant and number turns that into an error of the insert, so create one. In a transaction of
// GORM, tx is gormdb.Tx(tx). docs/numbers.md in the repository also numbers drafts that are posted.
package numbers
