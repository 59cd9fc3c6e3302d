package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/internal/takeover"
	"github.com/snowlease/snowlease/lease"
)

func takeoverCommand(p program) *cobra.Command {
	var (
		old                                          = storeFlags{timeout: 5 * time.Minute} // it may have to wait for max-ttl
		store, namespace, prefix, workers, toWorkers string
		check                                        bool
	)
	cmd := &cobra.Command{
		Use:   "takeover --namespace NS --to-namespace NS [flags]",
		Short: "Hand worker ids over to another namespace, layout or store",
		Long: `Takeover hands the --workers of a namespace over to another one, after the last process that
used them has stopped. The new namespace must exist ("snowlease init"), and none of the
--to-workers may be lent. Takeover borrows the old worker ids, which proves that nobody
holds one. It waits until the new store's clock is past all times that their ids used, and
raises the marks of the new worker ids above those times. It reads layouts and pools from
the namespaces.

Without --workers, takeover retires the old namespace: it permanently refuses processes
with its configuration. With --workers, the old worker ids stay borrowed for max-ttl.

Takeover exits with 3 if a worker id is in use: stop its process or wait, and run takeover
again. A failed takeover changes nothing, unless the error reports that the old side is
retired: then it says from when new processes may start.

With --check, takeover changes nothing, and exits with 3 if both sides can issue equal ids.
If they cannot, old and new processes may run side by side.`,
		Example: `  snowlease takeover --namespace orders --workers 0-15 --to-namespace orders-2 --to-workers 512-1023 --check
  snowlease takeover --namespace orders --to-namespace orders-2`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := old.complete(cmd, false); err != nil {
				return err
			}
			next := old
			next.namespace, next.prefix = namespace, cmp.Or(prefix, old.prefix)
			if store != "" {
				next.store = store
				if err := next.locate(); err != nil {
					return fmt.Errorf("--to-store: %w", err)
				}
			}
			if err := lease.CheckNamespace(namespace); err != nil {
				return fmt.Errorf("--to-namespace: %w", err)
			}
			old.yes = old.yes || check
			if err := old.confirm(cmd, "Hand over worker ids of namespace %q (%s) to %q? No process may use them.", old.namespace, cmp.Or(workers, "all, which retires it"), namespace); err != nil {
				return err
			}
			return old.with(cmd, func(_ context.Context, from *target.Opened) error {
				return next.with(cmd, func(ctx context.Context, to *target.Opened) error { //nolint:contextcheck // the context of the command
					b, err := sideOf(ctx, to, namespace, "to-workers", toWorkers, true)
					if err != nil {
						return err
					}
					a, err := sideOf(ctx, from, old.namespace, "workers", workers, check)
					if err != nil {
						return err
					}
					text, err := takeOver(ctx, a, b, check)
					if err == nil {
						fmt.Fprintln(cmd.OutOrStdout(), text)
					}
					return err
				})
			})
		},
	}
	old.register(cmd, p)
	flags := cmd.Flags()
	flags.StringVar(&workers, "workers", "", "the old worker ids, such as 16-31 (default: all)")
	flags.StringVar(&store, "to-store", "", "the store of the new namespace (default: the same)")
	flags.StringVar(&namespace, "to-namespace", "", "the new namespace")
	flags.StringVar(&prefix, "to-prefix", "", "prefix of its tables or keys (default: the same)")
	flags.StringVar(&toWorkers, "to-workers", "", "the new worker ids, such as 512-1023 (default: all)")
	flags.BoolVar(&check, "check", false, "only check that both sides never issue equal ids")
	old.registerYes(cmd)
	must(cmd.MarkFlagRequired("to-namespace"))
	return cmd
}

// takeOver takes over, or only checks if check is set, and returns the line to print.
func takeOver(ctx context.Context, old, next takeover.Side, check bool) (string, error) {
	if check {
		err := takeover.Apart(old, next)
		if errors.Is(err, takeover.ErrNotApart) {
			err = failure{exitNo, err}
		}
		return "ids of both sides are never equal: their processes may run side by side", err
	}
	r, err := takeover.Take(ctx, old, next)
	if errors.As(err, new(*takeover.LiveError)) {
		err = failure{exitNo, err}
	}
	ends := "lends none of the old ones until " + at(r.Sealed)
	if r.Retired {
		ends = "is retired"
	}
	return fmt.Sprintf("namespace %q at %s has taken over, with worker ids %d-%d; namespace %q %s",
		next.Request.Namespace, lease.Name(next.Center), next.Request.First, next.Request.Last, old.Request.Namespace, ends), err
}

// sideOf returns a side of the takeover: the worker ids of a namespace, with the request of a
// member that matches its pin. Unless it must be open, the side may be a retired one, for takeover.Take
// to refuse: its pin lacks the layout.
func sideOf(ctx context.Context, o *target.Opened, namespace, flag, workers string, open bool) (s takeover.Side, err error) {
	rec, err := o.Record(ctx, namespace)
	if err != nil {
		return s, fmt.Errorf("namespace %q at %s: %w", namespace, o, err)
	}
	pin := rec.Pin
	if pin.Retired && !open {
		return takeover.Side{Center: o.Center, Request: lease.Request{Namespace: namespace}}, nil
	}
	if err := pin.Err(); err != nil {
		return s, fmt.Errorf("namespace %q at %s: %w", namespace, o, err)
	}
	s = takeover.Side{Center: o.Center, Request: lease.Request{
		Namespace: namespace, Layout: pin.Layout, Holder: "takeover", Owner: lease.NewOwner(), Pool: pin.Pool,
		Last: pin.Pool - 1, TTL: pin.MaxTTL, MaxTTL: pin.MaxTTL, Skew: pin.Skew,
	}}
	if s.Layout, err = parseLayout(pin.Layout); err != nil || workers == "" {
		return s, err
	}
	list, err := parseWorkers(workers, pin.Pool)
	if err == nil && list[len(list)-1]-list[0] != int64(len(list))-1 {
		err = errors.New("the worker ids are not one range")
	}
	if err != nil {
		return s, fmt.Errorf("--%s of namespace %q: %w", flag, namespace, err)
	}
	s.Request.First, s.Request.Last = list[0], list[len(list)-1]
	return s, nil
}
