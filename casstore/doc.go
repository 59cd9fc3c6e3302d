// Package casstore turns any store with compare-and-swap into a lease.Center: an
// object store, Consul, an unsupported database, a file under a lock. You write
// Load and Swap; the package implements the protocol.
//
//	center := casstore.New(store) // to fx: fx.Provide(func() lease.Center { return center })
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
//   - A version stands for one content of one record. It does not recur if the record
//     is deleted and created again, nor under another Record.Incarnation: put that into
//     the version, so that no Swap writes to another server than Load read from.
//   - A Swap that was acknowledged, or that a Load has shown, is not lost. If it can be, Record.Incarnation changes, or
//     the whole record is gone. Later grants then lie above everything that may have
//     been forgotten, and a call that wrote to another incarnation than it read from
//     fails.
//   - An error other than ErrChanged leaves open whether the Swap took effect.
//   - Load and Swap return as soon as their context ends.
//
// The store's clock may step either way. If the record is lost, the clock must not be
// more than Skew behind the latest time it ever showed.
//
// If the store has no clock, the clocks of the hosts are used, and ids are as far off
// in time as these are. Uniqueness then needs agreement only across a loss of the
// record: no two clocks may differ by more than Skew. After a host with a fast clock
// has crashed, its worker id stays taken longer by the time that the clock was ahead.
//
// # The record
//
// The record is a JSON object with a part "meta", and one for each worker id that was lent.
// Times are Unix milliseconds.
//
//	{"meta": {"format": 1, "pin", "incarnation", "former", "quarantine", "reason",
//	          "slots": the size of the pool, "lent": the worker ids that have parts},
//	 "0":    {"expires": when its lease ends, "mark": no id of it lies above this,
//	          "owner", "holder", "token", "since", "floor"}}
//
// Without since, it is free, and owner is the former one, its bytes reversed.
//
// A part that "lent" names and that is missing counts as lost, and so do times that are null or
// missing. A namespace that is being created has only a reason.
package casstore
