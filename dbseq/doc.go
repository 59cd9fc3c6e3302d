// Package dbseq lends worker ids from a SQL database that the application has
// already: MySQL, MariaDB, PostgreSQL or SQLite, handed over as a *gorm.DB. It is a
// lease.Center; package lease says what that promises and why.
//
//	center, err := dbseq.New(db)
//	defer center.Close()
//
// Use it through package idworker in an fx application. Do not use it where Redis is
// at hand and the database is not durable; a database that answers for itself only
// after a failover without its last commits is fine, see Quarantine.
//
// # Connections
//
// A center opens a pool of its own beside the application's, with the same driver and
// DSN, at most 2 connections (SQLite: 1). Only driver and DSN are taken from the
// *gorm.DB: no plugin, callback, logger, replica or transaction of the application is
// in the way, and a busy pool delays no renewal. Where gorm was opened on a connection
// instead of a DSN, or on a database in memory, the center shares the application's
// pool and says so in Warnings. WithPool gives it another.
//
// Every statement commits by itself, and each reads the server's clock once, so
// neither the isolation level nor the time zone of the session matters. A statement
// that loses to another one (deadlock, serialization failure, SQLITE_BUSY) is tried
// again, or, where it would have taken a slot, given up for the next slot.
//
// # Tables
//
// The tables snowlease_slot, snowlease_ticket and snowlease_meta are created when a
// worker id is first asked for. An account that may not CREATE needs an administrator
// who runs the file of dbseq/schema for the database once, and the rights that
// docs/engines.md lists: SELECT and INSERT on all three, UPDATE on slot and meta, DELETE
// on ticket.
//
// Tables that are empty may have been dropped or emptied while processes held worker
// ids. So the first borrow of a namespace counts as one after a loss, unless Init has
// opened it.
//
// # Borrowing
//
// A borrower draws a ticket from an auto-increment key. The slot that the ticket falls
// on is taken if it is free, else the least recently used free slot, by one UPDATE that
// checks all over again on the server that runs it: the slot and the quarantine are as
// they were seen, the slot is free, the server is the one on record, the caller's clock
// agrees. Whoever wins a slot deletes the ticket of its predecessor.
package dbseq
