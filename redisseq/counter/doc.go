// Package counter issues ids that are counted in Redis, so that any number of processes
// share one worker number: see Counter.
//
// Clients, options and errors are those of package redisseq.
package counter
