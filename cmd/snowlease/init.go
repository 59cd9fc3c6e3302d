package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/idworker/lease"
	"github.com/snowlease/snowlease/providers"
	"github.com/snowlease/snowlease/providers/redis"
	"github.com/snowlease/snowlease/providers/sqldb"
	"github.com/snowlease/snowlease/redisseq"
)

// Secrets come from the environment, where other users of the host do not see them.
const (
	envDSN              = "SNOWLEASE_DSN"
	envPassword         = "SNOWLEASE_REDIS_PASSWORD"
	envSentinelPassword = "SNOWLEASE_REDIS_SENTINEL_PASSWORD"
)

type initFlags struct {
	layout  layoutFlags
	config  idworker.Config
	prefix  string
	db      providers.DBConfig
	redis   providers.RedisConfig
	timeout time.Duration
	request lease.Request // by complete
}

func initCommand() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init --namespace NS --mode db|redis [flags]",
		Short: "Open a namespace that is known to be new",
		Long: `Init opens a namespace, so that its first worker ids are lent at once. A centre lends
nothing for a while (max-ttl and skew) in a namespace of which nothing is on record,
because it cannot know whether it is new or has been lost.

Call it only for a namespace that no process has ever had a worker id of. Where anything
of the namespace exists it changes nothing and exits with 3. Layout, max-ttl and skew
must be those of the application's configuration; the namespace is pinned to them.

The DSN and passwords are read from ` + envDSN + `, ` + envPassword + ` and
` + envSentinelPassword + ` where their flags are not given.`,
		Example: `  snowlease init --namespace orders --mode redis --addr 127.0.0.1:6379
  ` + envDSN + `='app:word@tcp(db:3306)/orders' snowlease init --namespace orders --mode db --driver mysql`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.complete(); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			ctx, cancel := context.WithTimeout(ctx, f.timeout)
			defer cancel()
			name, err := f.open(ctx)
			switch {
			case errors.Is(err, lease.ErrExists):
				return failure{exitExists, fmt.Errorf("%w: namespace %q at %s; nothing was changed", err, f.request.Namespace, name)}
			case err != nil:
				return failed(err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "namespace %q is open at %s: %s\n", f.request.Namespace, name, f.request.Pin())
			return failed(err)
		},
	}
	flags := cmd.Flags()
	c := &f.config
	flags.StringVar(&c.Namespace, "namespace", "", "the namespace (required)")
	flags.StringVar((*string)(&c.Mode), "mode", "", "centre: db or redis (required)")
	f.layout.register(flags)
	flags.DurationVar(&c.TTL, "ttl", 0, fmt.Sprintf("TTL of the leases (default %v)", lease.DefaultTTL))
	flags.DurationVar(&c.MaxTTL, "max-ttl", 0, fmt.Sprintf("greatest TTL of any member (default: the TTL, at least %v)", lease.DefaultTTL))
	flags.DurationVar(&c.Skew, "skew", 0, fmt.Sprintf("how far the centre's clock may step back when it fails over (default %v)", lease.DefaultSkew))
	flags.StringVar(&c.Quarantine, "quarantine", idworker.QuarantineOnChange, "on-change or never, as the application has it")
	flags.StringVar(&f.prefix, "prefix", "", "prefix of tables or keys, where the application has one")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "give up after")
	flags.StringVar(&f.db.Driver, "driver", "", "mode db: mysql, postgres or sqlite")
	flags.StringVar(&f.db.DSN, "dsn", "", "mode db: data source name")
	flags.StringSliceVar(&f.redis.Addrs, "addr", nil, "mode redis: host:port, of the server, the cluster's nodes or the Sentinels")
	flags.StringVar(&f.redis.Master, "master", "", "mode redis: name of the master that the Sentinels watch")
	flags.BoolVar(&f.redis.Cluster, "cluster", false, "mode redis: the address leads to a cluster")
	flags.IntVar(&f.redis.DB, "db", 0, "mode redis: number of the database")
	flags.StringVar(&f.redis.Username, "username", "", "mode redis: user")
	flags.StringVar(&f.redis.Password, "password", "", "mode redis: password")
	flags.StringVar(&f.redis.SentinelUsername, "sentinel-username", "", "mode redis: user at the Sentinels")
	flags.StringVar(&f.redis.SentinelPassword, "sentinel-password", "", "mode redis: password at the Sentinels")
	flags.BoolVar(&f.redis.TLS, "tls", false, "mode redis: use TLS")
	return cmd
}

// complete fills in the request, as idworker does, and checks all flags.
func (f *initFlags) complete() error {
	l, err := f.layout.layout()
	if err != nil {
		return err
	}
	f.config.Layout = l
	r, err := f.config.Request()
	if err != nil {
		return err
	}
	r.Local = time.Now().UnixMilli()
	f.request = r
	switch f.config.Mode {
	case idworker.ModeDB:
		f.db.DSN = cmp.Or(f.db.DSN, os.Getenv(envDSN))
		return f.db.Validate()
	case idworker.ModeRedis:
		f.redis.Password = cmp.Or(f.redis.Password, os.Getenv(envPassword))
		if f.redis.Master != "" {
			f.redis.SentinelPassword = cmp.Or(f.redis.SentinelPassword, os.Getenv(envSentinelPassword))
		}
		return f.redis.Validate()
	}
	return fmt.Errorf("--mode %q is neither db nor redis", f.config.Mode)
}

// open opens the namespace and returns the name of its centre.
func (f *initFlags) open(ctx context.Context) (name string, err error) {
	if f.config.Mode == idworker.ModeRedis {
		client, err := redis.Open(ctx, f.redis)
		if err != nil {
			return "", err
		}
		defer client.Close()
		options := []redisseq.Option{redisseq.WithQuarantine(redisseq.Quarantine(f.config.Quarantine))}
		if f.prefix != "" {
			options = append(options, redisseq.WithPrefix(f.prefix))
		}
		center, err := redisseq.New(client, options...)
		if err != nil {
			return "", err
		}
		return center.String(), center.Init(ctx, f.request)
	}
	db, err := sqldb.Open(ctx, f.db, nil, providers.Drivers()...)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, sqldb.Close(db)) }()
	options := []dbseq.Option{dbseq.WithQuarantine(dbseq.Quarantine(f.config.Quarantine))}
	if f.prefix != "" {
		options = append(options, dbseq.WithTablePrefix(f.prefix))
	}
	center, err := dbseq.New(db, options...)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, center.Close()) }()
	return center.String(), center.Init(ctx, f.request)
}
