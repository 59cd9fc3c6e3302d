// Package segments reserves small numbers on Redis, for package segment: a Store keeps
// them on Redis alone; a Dispenser hands out, in strict order, those of another store.
//
// Clients, options and errors are those of package redisseq.
package segments
