// Package dbseq lends worker ids from the SQL database that an application already
// uses: MySQL, MariaDB, PostgreSQL or SQLite. The Center is a lease.Center, and package
// lease documents what that guarantees.
//
//	import _ "github.com/go-sql-driver/mysql" // or pgx/v5/stdlib, modernc.org/sqlite
//
//	center, err := dbseq.Open("mysql", dsn) // or "pgx", "sqlite"; as sql.Open
//	defer center.Close()
//
// If the application has a *gorm.DB, use package gormdb. In an fx application, use package
// idworker. A failover may lose the last commits of the database: see WithDurable.
//
// # Connections
//
// Open gives a center a pool of its own, with at most 2 connections (SQLite: 1), so that no
// transaction, replica or busy pool of the application interferes with renewals. New puts
// it on a pool that you pass, such as the result of stdlib.OpenDBFromPool for a pgxpool.Pool:
// renewals then wait while all its connections are busy. Numbers are small numbers in the same database.
//
// Each statement commits on its own and reads the server's clock once, so neither the time
// zone of the session nor the isolation level matters. A statement that loses against another
// (deadlock, serialization failure, SQLITE_BUSY) is retried. A borrow tries the next free
// worker id instead.
//
// On MySQL and MariaDB, the sessions of Open have autocommit on, completion_type 0, lock
// wait timeouts of 1 s, no sql_select_limit, and UTF-8. All else in the DSN stays. On a pool
// given to New, each statement has a transaction of its own, since autocommit may be off.
//
// # Tables
//
// The first Acquire or Init creates the tables snowlease_slot, snowlease_ticket and
// snowlease_meta. If the account may not create tables, an administrator runs the file
// of dbseq/schema for the database once. The account needs SELECT and INSERT on all
// three tables, UPDATE on slot and meta, and DELETE on ticket (docs/engines.md).
//
// Statements name the tables with their database or schema, which the first call finds. On
// PostgreSQL, that is the first schema of the search_path that has the table slot, or else the
// first one.
//
// Empty tables may have been dropped or emptied while processes held worker ids.
// Therefore the first borrow in a namespace is treated as one after a loss, unless Init
// has opened the namespace.
//
// # Loss of data
//
// Unless WithDurable is set, an incarnation other than the recorded one counts as a
// loss. Any account may read it, unless that was revoked:
//
//   - MySQL: server_uuid, hostname, port, and the second of the start, which is the time
//     less Uptime, so that clock steps do not change it. A copy of a data folder has the same
//     server_uuid, but another host name or port. How often the server has begun to follow
//     another or has joined a group since is read after each borrow and renewal, as a former
//     primary that lags and is promoted again has the record of its first time.
//   - MariaDB: the same with server_id, server_uid where the version has it, changes of the
//     members of Galera, and FLUSH GLOBAL STATUS. The start is read once per connection of Open.
//   - PostgreSQL: system identifier, timeline, pg_postmaster_start_time and
//     pg_last_wal_replay_lsn. They change at each start and promotion, and when the
//     server recovers from the crash of one of its processes.
//   - SQLite: nothing.
//
// # Borrowing
//
// Each worker id has a row, its slot. A borrower draws a ticket from an auto-increment
// key, so that borrowers do not all try the same slot. It takes the slot at the ticket
// modulo the number of slots if that is free, else the least recently used free slot. One
// UPDATE takes the slot, and checks on the server that runs it that
//
//   - the slot and the quarantine are as the borrower saw them;
//   - the slot is free;
//   - the server is the recorded one;
//   - the caller's clock agrees with the server's.
//
// The new holder of a slot deletes the ticket of the previous one.
package dbseq
