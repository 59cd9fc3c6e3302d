// Package sqlredis opens the stores of the command snowlease: SQL databases and Redis.
package sqlredis

import (
	"context"
	"database/sql"
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
	Default: func() (target.Target, string, error) {
		return nil, "", errors.New("--store is empty: give a URL of redis, mysql, postgres or sqlite (see --help); if it contains a password, use " + target.EnvStore)
	},
}

// onRedis returns the options of a Redis store.
func onRedis(with target.Options) []redisseq.Option {
	options := []redisseq.Option{redisseq.WithDurable(with.Durable), redisseq.WithWaitReplicas(with.WaitReplicas, time.Millisecond)}
	if with.Prefix != "" {
		options = append(options, redisseq.WithPrefix(with.Prefix))
	}
	return options
}

// onSQL returns the options of a SQL store.
func onSQL(with target.Options) []dbseq.Option {
	options := []dbseq.Option{dbseq.WithDurable(with.Durable)}
	if prefix := with.TablePrefix; prefix != "" {
		options = append(options, dbseq.WithTablePrefix(prefix))
	}
	return options
}

// Open implements target.Target.
func (p place) Open(ctx context.Context, with target.Options) (_ *target.Opened, err error) {
	o := &target.Opened{}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Close())
		}
	}()
	if p.Driver == "" {
		client, err := redis.Open(ctx, p.Redis)
		if err != nil {
			return nil, fmt.Errorf("%w in %s", err, with.From)
		}
		o.Closes = append(o.Closes, client.Close)
		o.Segments = func() (target.Segments, error) {
			s, err := redisseq.Numbers(client, onRedis(with)...)
			if err != nil {
				return nil, err
			}
			o.Closes = append(o.Closes, s.Close)
			return s.(target.Segments), nil
		}
		c, err := redisseq.New(client, onRedis(with)...)
		if err != nil {
			return nil, err
		}
		o.Center, o.Operator, o.Closes = c, c.Extras().Operator, append(o.Closes, c.Close)
		return o, nil
	}
	c, err := dbseq.Open(p.Driver, string(p.DSN), onSQL(with)...)
	if err != nil {
		return nil, err
	}
	o.Center, o.Operator, o.Closes = c, c.Extras().Operator, append(o.Closes, c.Close)
	o.Segments = func() (target.Segments, error) { return c.Numbers().(target.Segments), nil }
	if err := p.exists(lease.Name(c), with); err != nil {
		return nil, err
	}
	if err := p.ping(ctx); err != nil {
		return nil, fmt.Errorf("%s: cannot connect: %w: check that the server runs and is reachable, and user, password, name and TLS in %s", lease.Name(c), dsn.Hide(err, lease.Name(c), string(p.DSN)), with.From)
	}
	return o, nil
}

// ping connects to the database within 5 s.
func (p place) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	pool, err := sql.Open(p.Driver, string(p.DSN))
	if err != nil {
		return err
	}
	return errors.Join(pool.PingContext(ctx), pool.Close())
}

// Again implements target.Target. It opens a single connection: behind a proxy that alternates
// between two servers, the first of two connections would always reach the same server.
func (p place) Again(ctx context.Context, with target.Options) (*target.Opened, error) {
	if p.Driver == "" && p.Redis.Cluster {
		return p.Open(ctx, with)
	}
	if p.Driver == "" {
		client, err := redis.Open(ctx, p.Redis)
		if err != nil {
			return nil, err
		}
		with.WaitReplicas = 0
		c, err := redisseq.New(struct{ goredis.UniversalClient }{client}, onRedis(with)...) // a wrapped client is used as it is, not copied
		if err != nil {
			return nil, errors.Join(err, client.Close())
		}
		return &target.Opened{Center: c, Operator: c.Extras().Operator, Closes: []func() error{client.Close}}, nil
	}
	c, err := dbseq.Open(p.Driver, string(p.DSN), onSQL(with)...)
	if err != nil {
		return nil, err
	}
	return &target.Opened{Center: c, Operator: c.Extras().Operator, Closes: []func() error{c.Close}}, nil
}

// exists returns an error if the SQLite file does not exist, because opening would create it.
func (p place) exists(name string, with target.Options) error {
	if with.Creates || p.Driver != "sqlite" {
		return nil
	}
	path, _, _ := strings.Cut(strings.TrimPrefix(string(p.DSN), "file:"), "?")
	if _, err := os.Stat(path); err != nil {
		return &target.MissingError{Store: name, Err: fmt.Errorf("%w: see %s; the application creates it", err, with.From)}
	}
	return nil
}
