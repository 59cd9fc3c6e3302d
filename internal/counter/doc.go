// Package counter issues ids that are counted in Redis, so that any number of processes
// can share one worker id: mode redis-sequence of package idworker. See Counter. Clients,
// options and errors are those of package redisseq.
package counter
