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

// A change is a command that changes a namespace after a confirmation.
type change struct {
	store storeFlags
	// ask returns the question, with what it mentions of the records.
	ask func(ctx context.Context, o *target.Opened) (question string, err error)
	// do makes the change and describes it, in words that follow the name of the namespace.
	do func(ctx context.Context, o *target.Opened) (text string, err error)
}

// changeCommand completes cmd, which makes the change c.
func changeCommand(p program, cmd *cobra.Command, c *change) *cobra.Command {
	cmd.Args = noArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.store.complete(cmd, false); err != nil {
			return err
		}
		var question string
		err := c.store.with(cmd, func(ctx context.Context, o *target.Opened) (err error) {
			question, err = c.ask(ctx, o)
			return err
		})
		if err != nil {
			return err
		}
		if err := c.store.confirm(cmd, "%s", question); err != nil {
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
	c.store.registerYes(cmd)
	return cmd
}

func quarantineCommand(p program) *cobra.Command {
	var reason string
	c := new(change)
	c.ask = func(context.Context, *target.Opened) (string, error) {
		return fmt.Sprintf("Put namespace %q in quarantine? New ids will carry times up to max-ttl ahead for a while.", c.store.namespace), nil
	}
	c.do = func(ctx context.Context, o *target.Opened) (string, error) {
		rec, err := o.Quarantine(ctx, c.store.namespace, "operator: "+reason)
		return "lends only above " + at(rec.Quarantine), err
	}
	cmd := changeCommand(p, &cobra.Command{
		Use:   "quarantine --namespace NS [flags]",
		Short: "Lend above all forgotten leases after restoring a backup",
		Long: `Quarantine makes a namespace grant only leases whose times lie above every lease that the
store may have lost: later than now + max-ttl + skew, as pinned. Processes keep running.
New ids carry times up to max-ttl ahead until the clock catches up. With exact_times, a
process without a worker id waits until then.

Use it after restoring a store from a backup: the store lacks the leases granted since the
backup, and snowlease may not detect that. Run it before the service reaches the restored
store, because the marks there may be too low. Without this command, snowlease detects lost
records, and also failovers and restarts unless store.durable is true.`,
		Example: `  snowlease quarantine --namespace orders --reason 'backup of 06:00 restored'`,
	}, c)
	cmd.Flags().StringVar(&reason, "reason", p.Name+" quarantine", "reason to show to processes that wait")
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
	c.ask = func(ctx context.Context, o *target.Opened) (string, error) {
		err := find(ctx, o)
		if err == nil && (slot.Token != token || slot.Holder == "" && slot.Expires < slot.Now) {
			err = lost()
		}
		return fmt.Sprintf("Take worker %d of %q from %q, who has held it since %s?", worker, c.store.namespace, printable.Text(slot.Holder), at(slot.Since)), err
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
		return fmt.Sprintf("took worker %d from %q; it can be lent again after %s", worker, holder, at(slot.HighWater)), err
	}
	cmd := changeCommand(p, &cobra.Command{
		Use:   "release --namespace NS --worker N --token T [flags]",
		Short: "Take a worker id from its holder",
		Long: `Release takes a worker id from a holder that should not have it: a forgotten process, or
another environment that shares the store by mistake. "snowlease workers" shows the worker
id and the token.

Release never causes duplicate ids. The mark stays, so the worker id is lent again only
after the times of all ids that its holder may still issue. A live holder loses its lease
at the next renewal and borrows another worker id, so end it first. A process that has
died needs no release: its lease ends at the same time anyway.

Release exits with 3 if the worker id is not held under this token.`,
		Example: `  snowlease release --namespace orders --worker 3 --token 1763702716123`,
	}, c)
	flags := cmd.Flags()
	flags.Int64Var(&worker, "worker", 0, "the worker id")
	flags.Int64Var(&token, "token", 0, "the token of the lease")
	must(errors.Join(cmd.MarkFlagRequired("worker"), cmd.MarkFlagRequired("token")))
	return cmd
}

func retireCommand(p program) *cobra.Command {
	var reason string
	c := new(change)
	c.ask = func(context.Context, *target.Opened) (string, error) {
		return fmt.Sprintf("Retire namespace %q for good? It will lend no more worker ids.", c.store.namespace), nil
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
database or mode. A process that starts with the old configuration, for example after a
rollback, fails with the given reason.

A takeover of a whole namespace retires it automatically. Retire cannot be undone.
Processes that still hold a worker id continue up to their ceilings.`,
		Example: `  snowlease retire --namespace orders --reason 'moved to namespace orders-2'`,
	}, c)
	cmd.Flags().StringVar(&reason, "reason", p.Name+" retire", "reason to show to processes that still start there")
	return cmd
}
