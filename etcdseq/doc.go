// Package etcdseq lends worker ids from etcd 3.4 or newer. New returns a lease.Center on a
// client of etcd. A quorum of members acknowledges every grant, so no failover and no
// partition of etcd forgets one: two members never lend one worker id at the same time.
//
//	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"etcd-0:2379", "etcd-1:2379", "etcd-2:2379"}})
//	center, err := etcdseq.New(client)
//
// In an fx application, add Module, and package idworker uses the center; Client opens a client
// from a Config. Without fx, use snowlease.Open. The package is a
// module of its own:
//
//	go get github.com/snowlease/snowlease/etcdseq
//
// # Keys
//
// A namespace ns has the keys below snowlease/ns/: "meta", "cluster", and a number for each
// worker id that was lent, each a JSON of some hundred bytes. No key has an etcd lease: a
// worker id is lent again when its range has passed, not when a session ends. A user of etcd
// needs a role that may read and write snowlease/orders/ for the namespace orders.
//
// A borrow is one read and one transaction, and a renewal one transaction. Each transaction
// compares the values of the keys that its decision depends on. Every renewal makes a
// revision, so etcd must compact its history, as Kubernetes does by itself:
// --auto-compaction-retention=1h.
//
// # Time
//
// etcd tells no time, so the clock of the caller decides, as in mode local. Ranges of one
// worker id are disjoint whatever the clocks of the callers show, because each begins above
// all earlier ones: see "A center on etcd" in docs/design/protocol.md. A clock that is wrong by
// minutes costs something else:
//
//   - Ids carry its time.
//   - If it is ahead, its worker id stays taken for as long after a crash. In a full pool it
//     takes the worker id of a process that lives, which then needs another.
//   - If it is behind, its worker id counts as free for the others.
//   - If it is ahead and notices a loss, or opens a namespace without Init, the quarantine
//     keeps all others from borrowing for as long, until its record is deleted: see "Late times"
//     in docs/operations.md.
//
// # Loss of data
//
// These show that grants may have been forgotten. Later ranges then lie above all of them,
// if the clocks of the callers differ by at most the skew (store.skew):
//
//   - missing keys
//   - another cluster id, as after a restore with another --initial-cluster-token
//   - a raft term below the one on record, as after a restore of a cluster that had had more
//     elections
//   - a raft term or a revision below one that this process has seen
//
// A restore from a snapshot that shows none of these needs a quarantine by hand before the
// service reaches the cluster (lease.Operator.Quarantine, or the command snowlease-etcd), or
// a wait of MaxTTL and the skew after the last write that it lost. So do --force-new-cluster
// on a member that lagged, and a member whose disk is lost and that starts under its former
// id: remove it and add it anew.
//
// Use etcd 3.4.22, 3.5.6 or newer. Earlier releases can lose acknowledged writes, and nothing
// above shows it: 3.5.0 to 3.5.2 if a member is killed (etcd issue 13766), 3.4.21 and 3.5.5
// with users (14571), others if the only member crashes (14370).
//
// # When etcd is away
//
// A call is one attempt, which ends with its context. The center does not use the client's
// retries of reads, and a member without a leader refuses at once. So does a client that is
// not connected, which then connects again. A worker repeats calls with growing
// pauses. Meanwhile ids go on to the end of their range.
package etcdseq
