package main

import (
	"cmp"
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
	"github.com/spf13/cobra"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/providers/redis"
	"github.com/snowlease/snowlease/redisseq"
)

// envStore names the store like --store. Use it for a store with a password: other users of
// the host can see arguments.
const envStore = "SNOWLEASE_STORE"

const storeHelp = `
Name the store with --store, or with ` + envStore + ` if it contains a password:

  redis://user:password@host:6379/0         rediss:// with TLS
  redis://host1,host2,host3/?cluster=true   a cluster
  redis://host1:26379,host2:26379/?master=name&sentinel_password=...
  mysql://user:password@host:3306/name      also MariaDB; or a go-sql-driver DSN
  postgres://user:password@host:5432/name?sslmode=verify-full
  sqlite:path/app.db

Percent-encode reserved characters in a password. Passwords are never printed.

Without both, it is db or redis of the application's configuration (package providers), which
--config names. The default is config.yaml in the working directory, if it has the key idworker
with this namespace. If it has both, mode says which (for numbers segment_store).`

// storeFlags select a store and describe how the application uses it.
type storeFlags struct {
	store, namespace, prefix string
	file, key                string // of the application's configuration
	quarantine               lease.Quarantine
	timeout                  time.Duration
	creates                  bool   // the command may create a SQLite file
	waits                    int    // wait_replicas, for the doctor to check
	numbers                  bool   // the command manages numbers, not worker ids
	reads                    bool   // the command only reads: the file may name the namespace
	at                       target // set by complete
	from                     string // where at comes from, for errors
}

func (f *storeFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.store, "store", "", "where the store is (default: $"+envStore+", else db or redis of --config)")
	flags.StringVar(&f.file, "config", "", "YAML file with the application's configuration (default: "+configFile+" if its idworker configures the namespace)")
	flags.StringVar(&f.key, "key", "", keyHelp)
	flags.StringVar(&f.namespace, "namespace", "", "the namespace")
	flags.StringVar(&f.prefix, "prefix", "", "prefix of tables or keys, if the application sets one")
	flags.StringVar((*string)(&f.quarantine), "quarantine", string(lease.QuarantineOnChange), "on-change or never, as in the application's configuration")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "time limit of the command")
	must(cmd.RegisterFlagCompletionFunc("quarantine", cobra.FixedCompletions([]string{string(lease.QuarantineOnChange), string(lease.QuarantineNever)}, cobra.ShellCompDirectiveNoFileComp)))
	cmd.Long += "\n" + storeHelp
}

// must panics on errors that only a bug in this program can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// complete checks the flags. A namespace is required unless optional is set.
func (f *storeFlags) complete(cmd *cobra.Command, optional bool) (err error) {
	if f.reads && f.namespace == "" {
		if err := f.namespaceOfFile(); err != nil {
			return err
		}
	}
	f.from = "--store"
	if text := cmp.Or(f.store, os.Getenv(envStore)); text != "" {
		f.at, err = parseStore(text)
	} else {
		err = f.configured(!cmd.Flags().Changed("quarantine"))
	}
	if err != nil {
		return err
	}
	if err := f.at.validate(); err != nil {
		return fmt.Errorf("%s: %w", f.from, err)
	}
	if f.quarantine.Validate() != nil {
		return fmt.Errorf("--quarantine %q is unknown: choose %s or %s", f.quarantine, lease.QuarantineOnChange, lease.QuarantineNever)
	}
	if f.namespace == "" && optional {
		return nil
	}
	if f.namespace == "" {
		return errors.New("--namespace is empty: give the namespace of the application's configuration")
	}
	return lease.CheckNamespace(f.namespace)
}

// A center is a lease.Center with all verbs of this program.
type center interface {
	lease.Center
	lease.Operator
	fmt.Stringer
	// Examine looks at the store and its server.
	Examine(ctx context.Context, namespace string) ([]lease.Finding, error)
	Init(ctx context.Context, req lease.Request) error
}

// An opened store has redis unless it is a database.
type opened struct {
	center
	at     target
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

// onRedis returns the options of a store in Redis.
func (f *storeFlags) onRedis() []redisseq.Option {
	options := []redisseq.Option{redisseq.WithQuarantine(f.quarantine), redisseq.WithWaitReplicas(f.waits, time.Millisecond)}
	if f.prefix != "" {
		options = append(options, redisseq.WithPrefix(f.prefix))
	}
	return options
}

// onSQL returns the options of a store in a database.
func (f *storeFlags) onSQL() []dbseq.Option {
	options := []dbseq.Option{dbseq.WithQuarantine(f.quarantine)}
	if f.prefix != "" {
		options = append(options, dbseq.WithTablePrefix(f.prefix))
	}
	return options
}

func (f *storeFlags) open(ctx context.Context) (_ *opened, err error) {
	o := &opened{at: f.at}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.close())
		}
	}()
	if o.at.Driver == "" {
		if o.redis, err = redis.Open(ctx, o.at.Redis); err != nil {
			return nil, err
		}
		o.closes = append(o.closes, o.redis.Close)
		o.center, err = redisseq.New(o.redis, f.onRedis()...)
		return o, err
	}
	c, err := dbseq.Open(o.at.Driver, string(o.at.DSN), f.onSQL()...)
	if err != nil {
		return nil, err
	}
	o.center, o.closes = c, append(o.closes, c.Close)
	if err := f.exists(); err != nil {
		return nil, err
	}
	if err := o.at.ping(ctx); err != nil {
		return nil, fmt.Errorf("%s: cannot connect: %w: check that the server runs and is reachable, and user, password, name and TLS in %s", c, err, f.from)
	}
	return o, nil
}

// ping connects to the database within 5 s.
func (t target) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	pool, err := sql.Open(t.Driver, string(t.DSN))
	if err != nil {
		return err
	}
	return errors.Join(pool.PingContext(ctx), pool.Close())
}

// again opens another connection to the store. In SQL it is one alone: two would always
// reach the same one of two servers that a proxy leads to in turn.
func (f *storeFlags) again(ctx context.Context) (*opened, error) {
	if f.at.Driver == "" {
		return f.open(ctx)
	}
	c, err := dbseq.Open(f.at.Driver, string(f.at.DSN), f.onSQL()...)
	if err != nil {
		return nil, err
	}
	return &opened{center: c, closes: []func() error{c.Close}}, nil
}

// exists returns an error if the SQLite file does not exist. Opening it would create it.
func (f *storeFlags) exists() error {
	if f.creates || f.at.Driver != "sqlite" {
		return nil
	}
	path, _, _ := strings.Cut(strings.TrimPrefix(string(f.at.DSN), "file:"), "?")
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%w: see %s; the application creates it", err, f.from)
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
