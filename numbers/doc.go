// Package numbers issues small numbers, such as order, invoice or member numbers. A Segment is a
// sequence that may have gaps. A Series starts over in each period, counts each tenant separately,
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
// The store is Numbers of a dbseq.Center, for example on SQLite in a test. For a Segment it may
// also be redisseq.Numbers. If numbers need not be small, use package snowlease: its ids need no
// round trip and carry their time.
//
// # Segments
//
// No number is issued twice, by any process, as long as the store does not lose a reservation that
// it has acknowledged. If the reply to a reservation is lost, its numbers are skipped. Prefetched
// numbers of a process that ends are never issued.
//
// This does not cover a process that is copied with its memory, such as a virtual machine restored
// from a snapshot: both copies issue the prefetched numbers. See Segment.Reset. A strict Segment
// prefetches nothing.
//
// Each number is greater than all numbers that the same Segment issued before the call. By default,
// processes prefetch, so a number costs an atomic add, and one process may issue 1,001 while
// another still issues 17. With SegmentConfig.Strict, each call queries the store, and numbers
// ascend across all processes. redisseq.Dispenser puts Redis in front of a SQL store, so that the
// round trip goes to Redis.
//
// A Segment holds the current segment and at least the next one, which it reserves when it begins
// the current one. The size of segments follows the rate, so that a segment lasts for
// SegmentConfig.Cover. At a steady rate, no caller waits as long as the store responds within that
// time, and callers do not notice a shorter outage. The default of 10 s covers a restart or a
// failover of a database, costs one request in 10 s per process, and leaves a gap of about 20 s'
// worth of numbers after a crash. A burst after low load waits for the store: sizes grow up to
// eightfold with each reservation. If a batch has to wait, one reservation provides all of its
// numbers.
//
// # Series
//
// Each scope of a series, such as a tenant, has one row in the table snowlease_segment, with a name
// such as shop/invoices.acme. No segment may have it: OpenSegment refuses it once a process has used the
// series, and Series.Start refuses a series with periods if a segment has used such a name before.
// They combine the period and the number, as in 202611010000000042, so a new period needs no new row.
// One more row, such as /period.shop.invoices, stands for the Period, Zone, YearStarts and Start of
// all processes: Series.Start refuses one with others.
//
// No number of a scope is issued twice in a period, by any process, as long as the database loses
// no acknowledged write. A scope never returns to an earlier period: once a process has taken a
// number of a period, the database provides no number of an earlier one, whatever the clocks show.
// A process requests numbers of the period that its clock is in. The database refuses the request
// with ErrClock if its own clock is more than five minutes outside of the period, so a process with
// a wrong clock cannot move a scope into the next year.
//
// With Gapless, a number is taken in the transaction that uses it, and a rollback takes it back. So
// numbers have no gaps, ascend in the order of commits, and are lost or restored together with
// their rows. The price is a row lock: until the transaction ends, other callers asking for a
// number of the same scope block. Take the number late in the transaction. A transaction that takes
// numbers of several scopes must take them in ascending order of the scopes, so that two
// transactions do not wait for each other.
//
// If the table loses rows but the application's tables do not, a scope starts over. Create a unique
// index on tenant and number, which turns a repeated number into an error of the INSERT. In a GORM
// transaction, pass gormdb.Tx(tx). docs/numbers.md in the repository also shows how to number
// drafts when they are posted.
package numbers
