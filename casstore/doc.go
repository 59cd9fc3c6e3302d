// Package casstore turns any store with compare-and-swap into a lease.Center: an
// object store, Consul, an unsupported database, a file under a lock. You write
// Load and Swap; the package implements the protocol.
//
//	center := casstore.New(store) // for fx: fx.Provide(func() lease.Center { return center })
//
// Each call rewrites the record of all slots. If you have SQL, Redis or etcd, use dbseq,
// redisseq or etcdseq instead. Package leasetest tests a center, and examples/owncenter is a
// complete one.
//
// # Requirements on the store
//
//   - A Swap takes effect as a whole, at most once, and only if the record is still
//     the one that was loaded with that version. Every Load that starts after the Swap
//     has returned sees it: no cache and no lagging replica serves reads.
//   - A version identifies one content of one record. It does not recur if the record
//     is deleted and created again, nor under another Record.Incarnation: make the
//     incarnation part of the version, so that no Swap writes to a server other than
//     the one that Load read from.
//   - A Swap that was acknowledged, or that a Load has shown, is not lost. If it can be,
//     Record.Incarnation changes, or the whole record is gone. Later grants then lie above
//     every grant that may have been forgotten, and a call fails if it wrote to another
//     incarnation than it read from.
//   - An error other than ErrChanged leaves open whether the Swap took effect.
//   - Load and Swap return as soon as their context ends.
//
// The store's clock may step forward or backward. If the record is lost, the clock must not be
// more than Skew behind the latest time that it ever showed.
//
// If the store has no clock, the clocks of the hosts are used, and ids are as inaccurate in time
// as those clocks. For uniqueness, the clocks must agree only across a loss of the record: no two
// may then differ by more than Skew. If a host whose clock is ahead crashes, its worker id stays
// in use longer by the amount that the clock was ahead.
//
// # The record
//
// The record is a JSON object with a part "meta" and one part for each worker id that was ever
// leased. Times are Unix milliseconds.
//
//	{"meta": {"format": 1, "pin", "incarnation", "former", "quarantine", "reason",
//	          "slots": the size of the pool, "lent": the worker ids that have parts},
//	 "0":    {"expires": when its lease ends, "mark": the latest time that its ids may carry,
//	          "owner", "holder", "token", "since", "floor", "hold", "used", "shape"}}
//
// A worker id without since is free, and owner is its last owner with the bytes reversed. The last
// three show what the pin allows for, in case that is lost.
//
// A part counts as lost if "lent" names it and it is missing. A time that is null or missing
// counts as lost too. While a namespace is being created, its meta has only a reason.
package casstore
