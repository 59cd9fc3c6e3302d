// Package segment issues numbers that start where you say and rise by ones, per name:
// small numbers that fit any column, for orders, invoices and members.
//
//	issuer, err := segment.Open(ctx, segment.Config{Name: "orders"}, store)
//	defer issuer.Close()
//	number, err := issuer.NextID()
//
// The store is dbseq.NewSegments on a SQL database, a Store of package redisseq/segments on Redis, or
// Memory in tests. Choose package idworker instead where numbers need not be small: its
// ids need no round trip at all and tell their time.
//
// # What is promised
//
// No number is given twice, by any process, as long as the store forgets no
// reservation that it has acknowledged. A reservation whose reply is lost is skipped.
// Numbers have gaps: what a process has prefetched when it ends is given to nobody. Who
// needs numbers without gaps needs a row lock in the transaction that uses the number.
//
// Not covered: a process that is copied with its memory, such as a virtual machine
// restored from a snapshot. It issues what it had prefetched, and so does its copy;
// OrderStrict prefetches nothing.
//
// Each number is greater than those that the same Issuer issued before it was asked
// for. Across processes there are two orders:
//
//   - OrderProcess: a process prefetches segments, which is as fast as an atomic add.
//     Numbers rise within a process, not across processes: one may issue 1,001 while
//     another still issues 17.
//   - OrderStrict: each call asks the store. Numbers rise across all processes, first
//     come, first served, at the price of a round trip a call. A Dispenser of package redisseq/segments
//     puts Redis in front of a SQL store, so that the round trip is one to Redis.
//
// # Prefetching
//
// An Issuer holds a chain of segments: the current one and at least one behind it,
// reserved as soon as the current one is begun. At a steady rate nobody waits for the
// store as long as it answers within the time that a segment lasts, and an outage of
// that length is not noticed. The number of a segment's numbers adapts so that one lasts
// Config.Cover.
//
// Cover is 10 s by default. A restart or a failover of a database takes some seconds,
// so an outage of that kind passes unseen; each process sends the store one statement
// in 10 s; and a process that crashes leaves a gap of about 20 s' worth of numbers.
// Longer covers bridge longer outages and leave larger gaps.
//
// A burst from nothing waits for the store, since a segment is made for the present
// rate: segments grow eightfold with each reservation, and a batch that waits has
// its whole size reserved at once.
package segment
