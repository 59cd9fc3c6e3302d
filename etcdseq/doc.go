// Package etcdseq leases worker ids from etcd 3.4 or newer. New returns a lease.Center on an etcd
// client. A quorum of members acknowledges every grant, so no failover and no partition of etcd
// forgets a grant: two members never lease one worker id at the same time.
//
//	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"etcd-0:2379", "etcd-1:2379", "etcd-2:2379"}})
//	center, err := etcdseq.New(client)
//
// In an fx application, add Module, and package idworker uses the center; Client opens a client
// from a Config. Without fx, use snowlease.Open. The package is a module of its own:
//
//	go get github.com/snowlease/snowlease/etcdseq
//
// # Keys
//
// The keys of a namespace ns begin with snowlease/ns/: "meta", "cluster", and a number for each
// worker id that was ever leased. Each value is a JSON object of some hundred bytes. No key has
// an etcd lease: a worker id is leased again when its range has passed, not when a session ends.
// A user of etcd needs a role that may read and write snowlease/orders/ for the namespace orders.
//
// A borrow is one read and one transaction, and a renewal is one transaction. Each transaction
// compares the values of the keys that its decision depends on. Every renewal creates a revision,
// so etcd must compact its history, which Kubernetes does by itself:
// --auto-compaction-retention=1h.
//
// # Time
//
// etcd does not report its time, so the caller's clock decides, as in mode local. Ranges of one
// worker id are disjoint whatever the clocks of the callers show, because each begins above all
// earlier ones: see "A center on etcd" in docs/design/protocol.md. A clock that is wrong by
// minutes has other effects:
//
//   - Ids carry its time.
//   - If the clock is ahead, the worker id of its host stays in use for as long after a crash.
//     In a full pool, the host takes the worker id of a live process, which then needs another.
//   - If the clock is behind, other hosts see the worker id of its host as free.
//   - If the clock is ahead and its host detects a loss, or opens a namespace without Init,
//     the quarantine keeps all others from borrowing for as long, until its record is deleted:
//     see "Late times" in docs/operations.md.
//
// # Loss of data
//
// The following signs mean that grants may have been forgotten. Later ranges then lie above all
// forgotten ones, if the clocks of the callers differ by at most the skew (store.skew):
//
//   - missing keys
//   - another cluster id, as after a restore with another --initial-cluster-token
//   - a raft term below the recorded one, as after a restore of a cluster that had had more
//     elections
//   - a raft term or a revision below one that this process has seen
//
// After a restore from a snapshot that shows none of these signs, start a quarantine manually
// before the service reaches the cluster (lease.Operator.Quarantine, or the command
// snowlease-etcd), or wait for MaxTTL and the skew after the last lost write. The same holds for
// --force-new-cluster on a member that lagged, and for a member that lost its disk and starts
// with its previous id: remove that member and add it again.
//
// Use etcd 3.4.22, 3.5.6 or newer. Earlier releases can lose acknowledged writes, and such a loss
// is undetected: 3.5.0 to 3.5.2 if a member is killed (etcd issue 13766), 3.4.21 and 3.5.5 with
// users (14571), others if the only member crashes (14370).
//
// # When etcd is down
//
// A call is one attempt, which ends with its context. The center does not use the client's
// retries of reads. A member without a leader refuses immediately. A client that is not connected
// also fails immediately, and then connects again. A worker repeats calls with growing pauses. In
// the meantime, ids continue to the end of their range.
package etcdseq
