package cli

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

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/internal/dsn"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// storeFlags select a store, and hold the application's settings for it.
type storeFlags struct {
	program                  program
	store, namespace, prefix string
	app                      configFlags
	durable                  bool
	timeout                  time.Duration
	creates                  bool          // the command may create a SQLite file
	waits                    uint          // wait_replicas, for the doctor to check
	yes                      bool          // confirm does not ask
	at                       target.Target // set by complete
	from                     string        // the origin of at, for errors and questions
	name                     string        // the store's name, without secrets; set by open
}

func (f *storeFlags) register(cmd *cobra.Command, p program) {
	f.program = p
	flags := cmd.Flags()
	f.app.register(cmd)
	f.registerPlace(cmd)
	if f.program.Numbers {
		flags.BoolVar(&f.durable, "durable", false, "the store loses no acknowledged write, as in the application's configuration")
	}
	flags.DurationVar(&f.timeout, "timeout", cmp.Or(f.timeout, 30*time.Second), "time limit of the command")
	cmd.Long += "\n" + f.program.Stores
}

// registerPlace adds the flags that name the store and the namespace.
func (f *storeFlags) registerPlace(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.store, "store", "", "the URL or DSN of the store (default: $"+target.EnvStore+")")
	flags.StringVar(&f.namespace, "namespace", "", "the namespace")
	flags.StringVar(&f.prefix, "prefix", "", "prefix of tables or keys, if the application sets one")
}

// layout returns the layout that the namespace is pinned to.
func (f *storeFlags) layout(cmd *cobra.Command) (l snowflake.Layout, err error) {
	err = f.run(cmd, func(ctx context.Context, o *target.Opened) error {
		rec, err := o.Record(ctx, f.namespace)
		if err == nil {
			l, err = parseLayout(rec.Pin.Layout)
		}
		return err
	})
	return l, err
}

// must panics on errors that only a bug in this program can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// complete checks the flags. A namespace is required unless optional is set.
func (f *storeFlags) complete(cmd *cobra.Command, optional bool) error {
	if err := f.app.read(cmd); err != nil {
		return err
	}
	if c := f.app.config; c != nil {
		f.namespace = c.Namespace
		if f.program.Numbers {
			f.durable, f.waits = c.Store.Durable, uint(c.Store.WaitReplicas)
		}
	}
	if err := f.locate(); err != nil {
		return err
	}
	if f.namespace == "" && optional {
		return nil
	}
	if f.namespace == "" {
		return errors.New("--namespace is empty: give the namespace of the application's configuration, or its file with --config")
	}
	return lease.CheckNamespace(f.namespace)
}

// locate parses --store or its default.
func (f *storeFlags) locate() (err error) {
	text := f.store
	if f.from = "--store"; text == "" {
		f.from, text = target.EnvStore, os.Getenv(target.EnvStore)
	}
	text = dsn.Trim(text)
	if err := dsn.Plain(text); err != nil {
		return fmt.Errorf("%s %w", f.from, err)
	}
	if text == "" {
		return errors.New("--store is empty: give the URL of a store (see --help); if it contains a password, use " + target.EnvStore)
	}
	f.at, err = f.program.Parse(text)
	return err
}

// registerYes adds the flag of commands that confirm.
func (f *storeFlags) registerYes(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask for confirmation")
}

// tables returns the table prefix.
func (f *storeFlags) tables() string {
	if f.prefix == "" && f.app.config != nil {
		return f.app.config.Store.TablePrefix
	}
	return f.prefix
}

// open opens the store with the application's settings, over one connection if single is set.
func (f *storeFlags) open(ctx context.Context, single bool) (*target.Opened, error) {
	o := &target.Opened{}
	err := f.at.Open(ctx, o, target.Options{
		Prefix: f.prefix, TablePrefix: f.tables(), Durable: f.durable, WaitReplicas: int(f.waits), Creates: f.creates, From: f.from, Single: single,
	})
	if o.Center != nil {
		f.name = o.String()
	}
	if err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

// within returns a context that ends with the timeout or a signal. A second signal kills the
// process, as the first one does while a command uses no store and waits for input.
func (f *storeFlags) within(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	timed, cancel := context.WithTimeout(cmd.Context(), f.timeout)
	ctx, stop := signal.NotifyContext(timed, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, func() {
		stop() // now: a question may follow
		cancel()
	}
}

// run checks the flags and runs do on the store.
func (f *storeFlags) run(cmd *cobra.Command, do func(context.Context, *target.Opened) error) error {
	if err := f.complete(cmd, false); err != nil {
		return err
	}
	return f.with(cmd, do)
}

// with opens the store, runs do and closes the store, within the timeout.
func (f *storeFlags) with(cmd *cobra.Command, do func(context.Context, *target.Opened) error) error {
	ctx, cancel := f.within(cmd)
	defer cancel()
	o, err := f.open(ctx, false)
	if err != nil {
		return failed(err)
	}
	return failed(errors.Join(do(ctx, o), o.Close()))
}

// confirm names the store, asks a question and returns an error unless the answer is "yes".
func (f *storeFlags) confirm(cmd *cobra.Command, format string, args ...any) error {
	if f.yes {
		return nil
	}
	if f.name == "" { // reach the store before asking
		if err := f.with(cmd, func(context.Context, *target.Opened) error { return nil }); err != nil {
			return err
		}
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "Store: %s (from %s)\n"+format+" Type yes to continue: ", append([]any{f.name, f.from}, args...)...)
	var answer string // Fscanln reads no more than a line, because the rest belongs to the next program
	if _, err := fmt.Fscanln(cmd.InOrStdin(), &answer); err != nil || answer != "yes" {
		return failure{exitNo, errors.New("not confirmed, nothing changed (--yes confirms without asking)")}
	}
	return nil
}
