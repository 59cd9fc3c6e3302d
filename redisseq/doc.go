// Package redisseq leases worker ids from Redis. New returns a lease.Center on a go-redis client
// for a single server, Sentinel or Cluster. It needs Redis 6.2 or newer, or Valkey.
//
// Pass the center to snowlease.Open, or provide it to package idworker with
// fx.Provide(redisseq.New). If the service also has a SQL database, prefer package dbseq: commits
// are durable there, but the durability of Redis depends on its settings.
//
// A ZSET scores the worker ids by the expiry of their leases, so they are leased in the order in
// which they became free. A worker id is free once its lease has expired on the clock of Redis
// (TIME). A borrow and a renewal each usually take one Lua script in one round trip. In other
// cases, and to release, a call takes two scripts: one loads records, and the other swaps them if
// they are unchanged. A lost race, and the creation of a namespace or of a large pool, take more.
// A script may run twice, because go-redis repeats a call whose reply is lost. Package lease
// documents the protocol.
//
// # Keys
//
// A namespace ns has four keys in one hash slot, without a TTL:
//
//	snowlease:{ns}:lease   ZSET  worker id, scored by the expiry of its lease
//	snowlease:{ns}:mark    HASH  worker id -> the latest time that its ids may carry
//	snowlease:{ns}:owner   HASH  worker id -> its holder
//	snowlease:{ns}:meta    HASH  pin of the members, incarnation, quarantine
//
// A pool of 1,024 workers takes less than 0.5 MB, or 0.8 MB with holders of 255 bytes.
// If a key is deleted or evicted, a quarantine follows. Set maxmemory-policy to
// noeviction or to one of the volatile-* policies. Renewals continue at the memory limit.
//
// # Loss of data
//
// Every call that borrows, renews or releases compares the run_id and the master_replid of the
// server with the recorded ones. A restart or a failover changes them, even a failover to a
// replica and back to the same process. Later grants, including those to current holders, then
// lie above every grant that may have been forgotten.
//
//	event                                                  run_id   master_replid
//	restart, whatever it loads                             new      new
//	a replica is promoted (REPLICAOF NO ONE, FAILOVER)     another  new
//	failover and back, the old master was a replica        same     new
//	first replica attached; first after repl-backlog-ttl   same     new, no loss
//	no replica for repl-backlog-ttl (an hour)              same     new, no loss
//	REPLICAOF to itself, then NO ONE                       same     new, no loss
//	more replicas, broken links, resyncs                   same     same, no loss
//	FLUSHALL, evicted or deleted keys                      same     same: missing records
//	failover and back, the old master stayed one           same     same: undetected
//	old data loaded into the running server                same     same: undetected
//
// A changed master_replid may come from a promotion whose backlog was released since, so changes
// without a loss count too. To avoid those, attach the first replica before the first start, and
// set repl-backlog-ttl 0.
//
// For the comparison, the Redis user of the client needs the right to INFO (ACL SETUSER name
// +info); without it the center returns ErrRunID. If Redis never loses an acknowledged write,
// WithDurable turns the comparison off.
//
// Only WithWaitReplicas protects against two masters that accept writes at the same time, such as
// in a partition. min-replicas-to-write and min-replicas-max-lag shorten that time.
package redisseq
