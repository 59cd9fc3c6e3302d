// Package sqlredis opens the stores of the command snowlease: SQL databases and Redis.
package sqlredis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	_ "github.com/go-sql-driver/mysql" // driver "mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
	goredis "github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/dsn"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/providers/redis"
	"github.com/snowlease/snowlease/redisseq"
)

// Program is the command snowlease.
var Program = target.Program{
	Name:  "snowlease",
	Short: "Decode snowflake ids, and manage the worker ids of a service",
	Stores: `
Name the store with --store, or with ` + target.EnvStore + ` if it contains a password:

  redis://user:password@host:6379/0         rediss:// with TLS
  rediss://host/?ca_file=ca.pem&cert_file=client.pem&key_file=client.key
  redis://host1,host2,host3/?cluster=true   a cluster
  redis://host1:26379,host2:26379/?master=name&sentinel_password=...
  mysql://user:password@host:3306/name      also MariaDB; or a go-sql-driver DSN
  postgres://user:password@host:5432/name?sslmode=verify-full
  sqlite:path/app.db

Percent-encode reserved characters in a password. Passwords are never printed.

The store is not read from the application's configuration.`,
	Examines: `connection, write access and
rights, durability of commits, replication, eviction and persistence, the identity of the
server, and its clock`,
	Numbers: true,
	Parse:   func(text string) (target.Target, error) { return parseStore(text) },
}

// Open implements target.Target.
func (p place) Open(ctx context.Context, o *target.Opened, with target.Options) error {
	if p.Driver == "" {
		client, err := redis.Open(ctx, p.Redis)
		if err != nil {
			return fmt.Errorf("%w in %s", err, with.From)
		}
		o.Closes = append(o.Closes, client.Close)
		if with.Single && !p.Redis.Cluster {
			client = struct{ goredis.UniversalClient }{client} // a wrapped client is used as it is, not copied
			with.WaitReplicas = 0
		}
		options := []redisseq.Option{redisseq.WithDurable(with.Durable), redisseq.WithWaitReplicas(with.WaitReplicas, time.Millisecond)}
		if with.Prefix != "" {
			options = append(options, redisseq.WithPrefix(with.Prefix))
		}
		s, err := redisseq.Numbers(client, options...)
		if err != nil {
			return err
		}
		o.Segments, o.Closes = s.(target.Segments), append(o.Closes, s.Close)
		c, err := redisseq.New(client, options...)
		if err != nil {
			return err
		}
		o.Use(c)
		return nil
	}
	options := []dbseq.Option{dbseq.WithDurable(with.Durable)}
	if with.TablePrefix != "" {
		options = append(options, dbseq.WithTablePrefix(with.TablePrefix))
	}
	c, err := dbseq.Open(p.Driver, string(p.DSN), options...)
	if err != nil {
		return fmt.Errorf("%s: %w", with.From, err)
	}
	o.Use(c)
	o.Segments = c.Numbers().(target.Segments)
	if err := p.exists(with); err != nil {
		return err
	}
	if _, err := o.Incarnation(ctx, "snowlease"); err != nil && !errors.Is(err, lease.ErrSetup) {
		return fmt.Errorf("%s: cannot connect: %w: check that the server runs and is reachable, and user, password, name and TLS in %s", lease.Name(c), dsn.Hide(err, lease.Name(c), string(p.DSN)), with.From)
	}
	return nil
}

// exists returns an error if the SQLite file does not exist, because opening would create it.
func (p place) exists(with target.Options) error {
	if with.Creates || p.Driver != "sqlite" {
		return nil
	}
	path, _, _ := strings.Cut(strings.TrimPrefix(string(p.DSN), "file:"), "?")
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%w: see %s; the application creates it", err, with.From)
	}
	return nil
}
