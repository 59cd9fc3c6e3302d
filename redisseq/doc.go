// Package redisseq lends worker ids from Redis: New makes a lease.Center of a
// go-redis client, single server, Sentinel or Cluster. It needs Redis 6.2 or newer,
// or Valkey.
//
// Package idworker uses it in an fx application; with keeper.New and
// snowflake.NewGenerator it works alone. Choose package dbseq instead where the
// service has a SQL database anyway: its commits are durable, the writes of a Redis
// are as durable as its settings make them.
//
// A ZSET scores the worker ids by the expiry of their leases. The least score is
// borrowed, and only when it lies in the past by the clock of Redis (TIME); idle
// workers are so lent in the order in which they became free. Each method is one Lua
// script, which is one round trip, and may run twice (go-redis repeats a call whose
// reply is lost). The protocol is that of package lease.
//
// # Keys
//
// A namespace ns has four keys, in one hash slot, none with a TTL:
//
//	snowlease:{ns}:lease   ZSET  worker id, scored by the expiry of its lease
//	snowlease:{ns}:mark    HASH  worker id, the time above which none of its ids lies
//	snowlease:{ns}:owner   HASH  worker id, who holds it
//	snowlease:{ns}:meta    HASH  what members agree on, incarnation, quarantine
//
// A pool of 1,024 workers takes less than 0.5 MB, or 0.8 MB with holders of 255 bytes.
// A key that is lost, by hand or by eviction, is noticed and answered by a quarantine:
// set maxmemory-policy to noeviction or to one of the volatile-* policies. Renewals go on at the memory limit.
//
// # Loss of data
//
// Every script compares the run_id and the master_replid of the server with those on
// record. A restart or a failover changes them, and so does a failover to a replica
// and back to the same process: what is lent from then on, to holders too, lies above all
// that may have been forgotten. The user needs the right to INFO for this ("ACL
// SETUSER name +info"); without it the center answers ErrRunID. The option
// WithQuarantine(Never) does without, for a Redis that never loses an acknowledged
// write.
//
// Two masters that take writes at once (a partition, before the old one learns) are
// covered only by WithWaitReplicas; min-replicas-to-write and min-replicas-max-lag
// make that time short.
package redisseq
