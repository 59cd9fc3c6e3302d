// Package redisnumbers has the stores of small numbers on Redis, which package redisseq returns:
// a Store reserves numbers on Redis alone, and a Dispenser hands out the numbers of another store
// in strict order.
package redisnumbers
