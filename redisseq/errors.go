package redisseq

import "github.com/snowlease/snowlease/redisseq/internal/conn"

// Errors of a Center, and of packages counter and segments.
var (
	// ErrClient is returned by New for a client that cannot keep the promise.
	ErrClient = conn.ErrClient
	// ErrRunID is returned where the server does not tell its run_id and master_replid,
	// so that a restart or a failover would pass unseen. Nothing was lent.
	ErrRunID = conn.ErrRunID
	// ErrVersion is returned for a server older than Redis 6.2.
	ErrVersion = conn.ErrVersion
	// ErrReplica is returned by a server that takes no writes. After a failover it
	// passes; where it stays, the client is connected to a replica.
	ErrReplica = conn.ErrReplica
	// ErrNotReplicated is returned where fewer replicas than WithWaitReplicas asks for
	// have answered in time that they have a grant. It was not handed out, and the
	// outcome is unknown: a keeper asks again with the same owner, or goes on below the
	// ceiling it has.
	ErrNotReplicated = conn.ErrNotReplicated
	// ErrDamaged is returned where a record is not as a script wrote it. Nothing is
	// lent then.
	ErrDamaged = conn.ErrDamaged
)
