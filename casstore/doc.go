// Package casstore makes a lease.Center of any store that can replace a record on
// condition: an object store, etcd, Consul, a table of a database that is not
// supported, a file under a lock. You write Load and Swap, and have all of the
// protocol.
//
//	center := casstore.New(store) // to fx: fx.Provide(func() lease.Center { return center })
//
// Use dbseq or redisseq where you have SQL or Redis: they change a slot, not a
// record of all slots. Package leasetest proves a center; examples/owncenter is a
// whole one.
//
// # What the store promises
//
//   - A Swap takes effect as a whole, at most once, and only if the record is still
//     the one that was loaded with that version. Who loads after it has returned
//     sees it: reads are not served by a cache or a replica that lags behind.
//   - A version stands for one content of one record. None comes back when the
//     record is deleted and made anew.
//   - An acknowledged Swap is not lost; or, where it can be, Record.Incarnation
//     changes, or the record is gone altogether. What is lent then lies above all that
//     may have been forgotten.
//   - An error other than ErrChanged leaves open whether the Swap took effect.
//
// The store's clock may step either way, but where the record is lost it must be at
// most Skew behind the latest time that it ever showed. A store without one has the clocks of the
// hosts: these make ids as old or as new as they are, and do not touch uniqueness,
// but across a loss of the record, where no two of them may differ by more than Skew.
// A host whose clock is ahead keeps its worker id from others for as long, after it
// has ended.
//
// # The record
//
// One record for each namespace, as JSON. Times are Unix milliseconds. What is null,
// or not there, counts as lost.
//
//	{"format": 1,
//	 "meta":   {"pin", "incarnation", "former", "quarantine", "reason"},
//	 "leases": [when the lease of worker id 0 expires, ...],
//	 "marks":  [no id of worker id 0 lies above this, ...],
//	 "owners": [{"owner", "holder", "token", "since", "floor"}, ...]}
package casstore
