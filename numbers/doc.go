// Package segment issues small numbers, such as order, invoice or member numbers. Each name of a
// namespace has its own sequence of numbers, which starts where you choose and may have gaps.
//
//	issuer, err := OpenSegment(ctx, store, SegmentConfig{Namespace: "shop", Name: "orders"})
//	defer issuer.Close()
//	number, err := issuer.Next(ctx)
//
// The store is Numbers of a dbseq.Center for a SQL database, such as SQLite in memory in a test, or
// redisseq.Numbers for Redis. If numbers need not be small, use package snowlease: its
// ids need no round trip and carry their time.
//
// # Guarantees
//
// No number is issued twice, by any process, as long as the store does not lose a
// reservation that it has acknowledged. If the reply to a reservation is lost, its
// numbers are skipped. Numbers have gaps: those that a process has prefetched when it
// ends are never issued. Gapless numbers need a row lock in the transaction that uses
// the number.
//
// A process that is copied with its memory is not covered, such as a virtual machine
// restored from a snapshot: both copies issue the numbers that were prefetched. See
// Segment.Reset. A strict one prefetches nothing.
//
// Each number is greater than all numbers that the same Segment issued before the call.
// Across processes there are two orders:
//
//   - By default, each process prefetches segments, so a number costs an atomic add.
//     Numbers ascend within a process, but not across processes: one may issue 1,001
//     while another still issues 17.
//   - With SegmentConfig.Strict, each call asks the store. Numbers ascend across all processes, at
//     the price of a round trip per call. Package redisseq has a Dispenser, which puts
//     Redis in front of a SQL store, so that the round trip goes to Redis.
//
// # Prefetching
//
// A Segment holds a chain of segments: the current one and at least one behind it,
// which is reserved as soon as the current one is begun. The size of segments adapts to
// the rate, so that one lasts SegmentConfig.Cover. At a steady rate no caller waits as long as
// the store answers within that time, and a shorter outage goes unnoticed.
//
// Cover is 10 s by default, for these reasons:
//
//   - A restart or a failover of a database takes some seconds, so it goes unnoticed.
//   - Each process sends the store one request in 10 s.
//   - A process that crashes leaves a gap of about 20 s' worth of numbers.
//
// A longer Cover bridges longer outages and leaves larger gaps.
//
// A burst after low load waits for the store, because segments are sized for the past
// rate. Segments grow up to eightfold with each reservation. A batch that has to wait
// has its whole size reserved at once.
package numbers
