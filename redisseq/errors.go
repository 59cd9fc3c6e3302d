package redisseq

import "github.com/snowlease/snowlease/internal/redisconn"

// Errors of this package.
var (
	// ErrClient is returned by New for a client that could break uniqueness.
	ErrClient = redisconn.ErrClient
	// ErrRunID is returned if the server does not reveal its run_id and master_replid, so that a
	// restart or a failover would be undetected. Nothing was leased.
	ErrRunID = redisconn.ErrRunID
	// ErrVersion is returned by a center for a server older than Redis 6.2.
	ErrVersion = redisconn.ErrVersion
	// ErrReplica is returned if the server accepts no writes. After a failover the error goes away
	// by itself. If it persists, the client is connected to a replica.
	ErrReplica = redisconn.ErrReplica
	// ErrNotReplicated is returned if fewer replicas than WithWaitReplicas requires have
	// acknowledged a grant in time. The grant must not be used, but may be recorded. A worker
	// repeats the call with the same owner, and stays below its old ceiling in the meantime.
	ErrNotReplicated = redisconn.ErrNotReplicated
)
