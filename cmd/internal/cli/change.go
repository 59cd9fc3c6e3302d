package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

// A change is what a command does to a namespace after a question.
type change struct {
	store storeFlags
	// look, if not nil, reads what question needs.
	look     func(ctx context.Context, o *target.Opened) error
	question func() string
	// do returns what was done, which follows the name of the namespace.
	do  func(ctx context.Context, o *target.Opened) (text string, err error)
	yes bool
}

// changeCommand makes c the command cmd.
func changeCommand(p program, cmd *cobra.Command, c *change) *cobra.Command {
	cmd.Args = noArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.store.complete(cmd, false); err != nil {
			return err
		}
		if c.look != nil {
			if err := c.store.with(cmd, c.look); err != nil {
				return err
			}
		}
		if err := c.store.confirm(cmd, c.yes, "%s", c.question()); err != nil {
			return err
		}
		return c.store.with(cmd, func(ctx context.Context, o *target.Opened) error {
			text, err := c.do(ctx, o)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "namespace %q at %s %s\n", c.store.namespace, o, text)
			return err
		})
	}
	c.store.register(cmd, p)
	cmd.Flags().BoolVar(&c.yes, "yes", false, "do not ask")
	return cmd
}

func quarantineCommand(p program) *cobra.Command {
	var reason string
	c := new(change)
	c.question = func() string {
		return fmt.Sprintf("Put namespace %q in quarantine? New ids will carry times up to max-ttl ahead for a while.", c.store.namespace)
	}
	c.do = func(ctx context.Context, o *target.Opened) (string, error) {
		rec, err := o.Quarantine(ctx, c.store.namespace, "by hand: "+reason)
		return "lends only above " + at(rec.Quarantine), err
	}
	cmd := changeCommand(p, &cobra.Command{
		Use:   "quarantine --namespace NS [flags]",
		Short: "Lend above all forgotten leases after restoring a backup",
		Long: `Quarantine makes a namespace lend only above every lease that the store may have
forgotten: above the time in max-ttl + skew, as the namespace has pinned them. Processes
keep running. New ids carry times up to max-ttl ahead until the clock catches up. With
exact_times, a process without a worker id waits until then.

Use it after restoring a store from a backup: the store lacks the leases granted since,
and may not look changed. Run it before the service reaches the restored store, since the
marks there may be too low. Failovers, restarts and lost records are detected without it.`,
		Example: `  snowlease quarantine --namespace orders --reason 'backup of 06:00 restored'`,
	}, c)
	cmd.Flags().StringVar(&reason, "reason", p.Name+" quarantine", "reason to show to processes that wait")
	return cmd
}

func retireCommand(p program) *cobra.Command {
	var reason string
	c := new(change)
	c.question = func() string {
		return fmt.Sprintf("Retire namespace %q for good? It will lend no more worker ids.", c.store.namespace)
	}
	c.do = func(ctx context.Context, o *target.Opened) (string, error) {
		if err := o.Retire(ctx, c.store.namespace, reason); err != nil {
			return "", err
		}
		rec, err := o.Record(ctx, c.store.namespace)
		return "is " + printable.Text(rec.Pin.String()), err
	}
	cmd := changeCommand(p, &cobra.Command{
		Use:   "retire --namespace NS [flags]",
		Short: "End a namespace for good, after its worker ids have moved elsewhere",
		Long: `Retire ends a namespace whose worker ids are used elsewhere: by another namespace, layout,
database or mode. A process that starts with the former configuration, such as one of a
deployment rolled back, fails with the given reason.

A takeover of a whole namespace retires it automatically. Retire cannot be undone.
Processes that still hold a worker id continue up to their ceilings.`,
		Example: `  snowlease retire --namespace orders --reason 'moved to namespace orders-2'`,
	}, c)
	cmd.Flags().StringVar(&reason, "reason", p.Name+" retire", "reason to show to processes that still start there")
	return cmd
}

func releaseCommand(p program) *cobra.Command {
	var (
		worker, token int64
		slot          lease.Slot
	)
	c := new(change)
	lost := func() error {
		return failure{exitNo, fmt.Errorf("worker %d of %q is not held under token %d, nothing changed: see \"snowlease workers\"", worker, c.store.namespace, token)}
	}
	find := func(ctx context.Context, o *target.Opened) error {
		slots, err := o.Slots(ctx, c.store.namespace)
		if err != nil {
			return err
		}
		if worker < 0 || worker >= int64(len(slots)) {
			return lost()
		}
		slot = slots[worker]
		return nil
	}
	c.look = func(ctx context.Context, o *target.Opened) error {
		if err := find(ctx, o); err != nil {
			return err
		}
		if slot.Token != token || slot.Holder == "" && slot.Expires < slot.Now {
			return lost()
		}
		return nil
	}
	c.question = func() string {
		return fmt.Sprintf("Take worker %d of %q from %q, who has held it since %s?", worker, c.store.namespace, printable.Text(slot.Holder), at(slot.Since))
	}
	c.do = func(ctx context.Context, o *target.Opened) (string, error) {
		holder := printable.Text(slot.Holder)
		err := o.Revoke(ctx, c.store.namespace, worker, token)
		if errors.Is(err, lease.ErrLost) {
			err = lost()
		}
		if err == nil {
			err = find(ctx, o)
		}
		return fmt.Sprintf("took worker %d from %q; it can be lent again after %s", worker, holder, at(slot.Mark)), err
	}
	cmd := changeCommand(p, &cobra.Command{
		Use:   "release --namespace NS --worker N --token T [flags]",
		Short: "Take a worker id from its holder",
		Long: `Release takes a worker id from a holder that should not have it: a forgotten process, or
another environment that shares the store by mistake. "snowlease workers" shows the worker
id and the token.

Release never causes duplicate ids. The mark stays, so the worker id is lent again only
after everything that its holder may still issue has passed. A live holder loses its lease
at the next renewal and borrows another worker id, so end it first. A process that has
died needs no release: its lease ends at the same time anyway.

It exits with 3 if the worker id is not held under this token.`,
		Example: `  snowlease release --namespace orders --worker 3 --token 1763702716123`,
	}, c)
	flags := cmd.Flags()
	flags.Int64Var(&worker, "worker", 0, "the worker id")
	flags.Int64Var(&token, "token", 0, "the token of its lease")
	must(errors.Join(cmd.MarkFlagRequired("worker"), cmd.MarkFlagRequired("token")))
	return cmd
}
