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
