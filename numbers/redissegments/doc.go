// Package redissegments provides stores on Redis for package segment. A Store reserves numbers
// on Redis alone. A Dispenser hands out the numbers of another store in strict order.
//
// Clients, options and errors are those of package redisseq.
package redissegments
