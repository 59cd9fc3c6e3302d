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
		store         storeFlags
		worker, token int64
		yes, asJSON   bool
	)
	cmd := &cobra.Command{
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
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := store.complete(cmd, false); err != nil {
				return err
			}
			var slot lease.Slot
			lost := failure{exitNo, fmt.Errorf("worker %d of %q is not held under token %d, nothing changed: see \"snowlease workers\"", worker, store.namespace, token)}
			if err := store.with(cmd, func(ctx context.Context, o *target.Opened) error {
				slots, err := o.Slots(ctx, store.namespace)
				if err != nil {
					return err
				}
				if worker < 0 || worker >= int64(len(slots)) || slots[worker].Token != token || slots[worker].Holder == "" && slots[worker].Expires < slots[worker].Now {
					return lost
				}
				slot = slots[worker]
				return nil
			}); err != nil {
				return err
			}
			if err := store.confirm(cmd, yes, "Take worker %d of %q from %q, who has held it since %s?", worker, store.namespace, printable.Text(slot.Holder), at(slot.Since)); err != nil {
				return err
			}
			return store.with(cmd, func(ctx context.Context, o *target.Opened) error {
				err := o.Revoke(ctx, store.namespace, worker, token)
				if errors.Is(err, lease.ErrLost) {
					return lost
				}
				if err != nil {
					return err
				}
				slots, err := o.Slots(ctx, store.namespace)
				if err != nil || int64(len(slots)) <= worker {
					return err
				}
				mark := at(slots[worker].Mark)
				return answer(cmd, asJSON, map[string]any{"namespace": store.namespace, "store": o.String(), "worker": worker, "lent_after": mark},
					"took worker %d of %q from %q; it can be lent again after %s\n", worker, store.namespace, printable.Text(slot.Holder), mark)
			})
		},
	}
	store.register(cmd, p)
	flags := cmd.Flags()
	flags.Int64Var(&worker, "worker", 0, "the worker id")
	flags.Int64Var(&token, "token", 0, "the token of its lease")
	flags.BoolVar(&yes, "yes", false, "do not ask")
	must(errors.Join(cmd.MarkFlagRequired("worker"), cmd.MarkFlagRequired("token")))
	jsonFlag(cmd, &asJSON)
	return cmd
}
