package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/providers"
	"github.com/snowlease/snowlease/providers/redis"
	"github.com/snowlease/snowlease/providers/sqldb"
	"github.com/snowlease/snowlease/redisseq"
)

// envStore is where a store with a password belongs: other users of the host see
// arguments.
const envStore = "SNOWLEASE_STORE"

const storeHelp = `
The store is named by --store, or better by ` + envStore + ` where it holds a password:

  redis://user:password@host:6379/0         rediss:// with TLS
  redis://host1,host2,host3/?cluster=true   a cluster
  redis://host1:26379,host2:26379/?master=name&sentinel_password=...
  mysql://user:password@host:3306/name      MariaDB as well; or a DSN of go-sql-driver
  postgres://user:password@host:5432/name?sslmode=verify-full
  sqlite:path/app.db

Reserved characters of a password are percent-encoded. No password is ever printed.`

// storeFlags say which store, and how the application uses it.
type storeFlags struct {
	store, namespace, prefix, quarantine string
	timeout                              time.Duration
	creates                              bool             // the command may create a SQLite file
	waits                                int              // wait_replicas, for the doctor, who lends nothing
	config                               providers.Config // by complete
}

func (f *storeFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.store, "store", "", "where the store is (default: $"+envStore+")")
	flags.StringVar(&f.namespace, "namespace", "", "the namespace")
	flags.StringVar(&f.prefix, "prefix", "", "prefix of tables or keys, where the application has one")
	flags.StringVar(&f.quarantine, "quarantine", idworker.QuarantineOnChange, "on-change or never, as the application has it")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "give up after")
	must(cmd.RegisterFlagCompletionFunc("quarantine", cobra.FixedCompletions([]string{idworker.QuarantineOnChange, idworker.QuarantineNever}, cobra.ShellCompDirectiveNoFileComp)))
	cmd.Long += "\n" + storeHelp
}

// must is for what only a fault of this program can make fail.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// complete reads the flags. A namespace is required unless optional.
func (f *storeFlags) complete(optional bool) (err error) {
	if f.config, err = parseStore(cmp.Or(f.store, os.Getenv(envStore))); err != nil {
		return err
	}
	if err := f.config.Validate(); err != nil {
		return err
	}
	if f.quarantine != idworker.QuarantineOnChange && f.quarantine != idworker.QuarantineNever {
		return fmt.Errorf("--quarantine %q is unknown: choose %s or %s", f.quarantine, idworker.QuarantineOnChange, idworker.QuarantineNever)
	}
	if f.namespace == "" && optional {
		return nil
	}
	if f.namespace == "" {
		return errors.New("--namespace is empty: name the namespace, as the application's configuration has it")
	}
	return lease.CheckNamespace(f.namespace)
}

// A center is an open center.
type center interface {
	lease.Operator
	lease.Initializer
	fmt.Stringer
	// Examine looks at the store and its server.
	Examine(ctx context.Context, namespace string) ([]lease.Finding, error)
}

// An opened store has one of db and redis.
type opened struct {
	center
	db     *gorm.DB
	redis  goredis.UniversalClient
	closes []func() error
}

// close closes all, last first.
func (o *opened) close() error {
	var err error
	for i := len(o.closes) - 1; i >= 0; i-- {
		err = errors.Join(err, o.closes[i]())
	}
	return err
}

// onRedis are the options of what stands on Redis.
func (f *storeFlags) onRedis() []redisseq.Option {
	options := []redisseq.Option{redisseq.WithQuarantine(redisseq.Quarantine(f.quarantine)), redisseq.WithWaitReplicas(f.waits, time.Millisecond)}
	if f.prefix != "" {
		options = append(options, redisseq.WithPrefix(f.prefix))
	}
	return options
}

// onSQL are the options of what stands on a database.
func (f *storeFlags) onSQL() []dbseq.Option {
	options := []dbseq.Option{dbseq.WithQuarantine(dbseq.Quarantine(f.quarantine))}
	if f.prefix != "" {
		options = append(options, dbseq.WithTablePrefix(f.prefix))
	}
	return options
}

func (f *storeFlags) open(ctx context.Context) (_ *opened, err error) {
	o := &opened{}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.close())
		}
	}()
	if !f.config.Redis.IsZero() {
		if o.redis, err = redis.Open(ctx, f.config.Redis); err != nil {
			return nil, err
		}
		o.closes = append(o.closes, o.redis.Close)
		o.center, err = redisseq.New(o.redis, f.onRedis()...)
		return o, err
	}
	if err := f.exists(); err != nil {
		return nil, err
	}
	if o.db, err = sqldb.Open(ctx, f.config.DB, nil, providers.Drivers()...); err != nil {
		return nil, err
	}
	o.closes = append(o.closes, func() error { return sqldb.Close(o.db) })
	c, err := dbseq.New(o.db, f.onSQL()...)
	if err != nil {
		return nil, err
	}
	o.center, o.closes = c, append(o.closes, c.Close)
	return o, nil
}

// exists: a SQLite file is there, which opening it would create.
func (f *storeFlags) exists() error {
	path, query, _ := strings.Cut(strings.TrimPrefix(string(f.config.DB.DSN), "file:"), "?")
	if f.creates || f.config.DB.Driver != "sqlite" || path == "" || strings.Contains(path, ":memory:") || strings.Contains(query, "mode=memory") {
		return nil
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%w: see --store; the application creates it", err)
	}
	return nil
}

// with opens the store and runs do within the timeout.
func (f *storeFlags) with(cmd *cobra.Command, do func(context.Context, *opened) error) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
	defer cancel()
	o, err := f.open(ctx)
	if err != nil {
		return failed(err)
	}
	err = do(ctx, o)
	if closing := o.close(); closing != nil {
		err = errors.Join(err, closing)
	}
	if errors.As(err, new(failure)) {
		return err
	}
	return failed(err)
}
