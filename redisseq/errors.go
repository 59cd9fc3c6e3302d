package redisseq

import "github.com/snowlease/snowlease/internal/redisconn"

// Errors of this package.
var (
	// ErrClient is returned by New for a client that could break uniqueness.
	ErrClient = redisconn.ErrClient
	// ErrRunID is returned if the server does not reveal its run_id and master_replid, so
	// that a restart or a failover would pass unnoticed. Nothing was lent.
	ErrRunID = redisconn.ErrRunID
	// ErrVersion is returned for a server older than Redis 6.2.
	ErrVersion = redisconn.ErrVersion
	// ErrReplica is returned if the server accepts no writes. After a failover the error
	// passes. If it persists, the client is connected to a replica.
	ErrReplica = redisconn.ErrReplica
	// ErrNotReplicated is returned if fewer replicas than WithWaitReplicas asks for have
	// acknowledged a grant in time. The grant must not be used, but may be on record. A
	// worker repeats the call with the same owner, and meanwhile stays below its old
	// ceiling.
	ErrNotReplicated = redisconn.ErrNotReplicated
)
