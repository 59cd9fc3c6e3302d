//go:build unix

package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"

	_ "github.com/go-sql-driver/mysql" // driver "mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
)

// A store is a database or a Redis.
type store struct{ Driver, DSN, Redis string }

func (s *store) flags(flags *flag.FlagSet) {
	flags.StringVar(&s.Driver, "driver", "", "mysql, pgx or sqlite (default: a SQLite file in a temporary folder)")
	flags.StringVar(&s.DSN, "dsn", "", "DSN for the driver")
	flags.StringVar(&s.Redis, "redis", "", "URL of a Redis to use instead")
}

func (s store) client() (*redis.Client, error) {
	logging.Disable() // go-redis also returns the errors that it logs
	options, err := redis.ParseURL(s.Redis)
	if err != nil {
		return nil, errors.New("-redis is no URL such as redis://:secret@host:6379/0") // err may show the password
	}
	return redis.NewClient(options), nil
}

func (s store) open() (lease.Center, io.Closer, error) {
	if s.Redis == "" {
		center, err := dbseq.Open(s.Driver, s.DSN)
		return center, center, err
	}
	client, err := s.client()
	if err != nil {
		return nil, nil, err
	}
	center, err := redisseq.New(client)
	return center, client, err
}

// everything is the part that holds all records of a namespace.
const everything = -1

// forget deletes a part of the records of a namespace, 0 or 1, or everything. A kind of store
// with other tables or keys needs a function of its own.
func (s store) forget(ctx context.Context, namespace string, part int) (err error) {
	if s.Redis != "" {
		client, err := s.client()
		if err != nil {
			return err
		}
		key := func(what string) string { return "snowlease:{" + namespace + "}:" + what }
		keys := []string{key("meta"), key("lease"), key("mark"), key("owner")}
		if part != everything {
			keys = keys[part : part+1]
		}
		return errors.Join(client.Del(ctx, keys...).Err(), client.Close())
	}
	db, err := sql.Open(s.Driver, s.DSN)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if s.Driver == "sqlite" {
		db.SetMaxOpenConns(1)
		if _, err := db.ExecContext(ctx, "PRAGMA busy_timeout = 10000"); err != nil {
			return err
		}
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	tables := []string{"snowlease_meta", "snowlease_slot", "snowlease_ticket"}
	if part != everything {
		tables = tables[part : part+1]
	}
	for _, table := range tables {
		// Namespaces have no quotes, and drivers differ in their placeholders.
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("DELETE FROM %s WHERE ns = '%s'", table, namespace)); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}
