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
		old                               storeFlags
		workers, store, namespace, prefix string
		toWorkers                         string
		check, yes                        bool
	)
	cmd := &cobra.Command{
		Use:   "takeover --namespace NS --to-namespace NS [flags]",
		Short: "Hand worker ids over to another namespace, layout or store",
		Long: `Takeover hands the --workers of a namespace over to another one, after the last process that
used them has stopped. The new namespace must exist ("snowlease init") and lend none of
the --to-workers. Takeover borrows the old worker ids, which proves that nobody holds one,
waits until the new store's clock has passed all times that they used, and raises the new
worker ids above those. Layouts and pools are read from the namespaces.

If --workers is left out, the old namespace is retired: processes with its configuration
are refused for good. Otherwise the worker ids stay borrowed for max-ttl.

Takeover exits with 3 if a worker id is in use: stop its process or wait, and run it again.
After a failure nothing has changed, unless the error says that the old side is retired.

With --check it changes nothing, and exits with 3 if ids of both sides can be equal. If they
cannot, old and new processes may run side by side.`,
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
			if err := old.confirm(cmd, yes || check, "Hand over worker ids of namespace %q (%s) to %q? No process may use them.", old.namespace, cmp.Or(workers, "all, which retires it"), namespace); err != nil {
				return err
			}
			return old.with(cmd, func(_ context.Context, from *target.Opened) error {
				return next.with(cmd, func(ctx context.Context, to *target.Opened) error { //nolint:contextcheck // that of the command
					b, err := sideOf(ctx, to, namespace, "to-workers", toWorkers, nil)
					if err != nil {
						return err
					}
					a, err := sideOf(ctx, from, old.namespace, "workers", workers, &b)
					if err != nil {
						return err
					}
					text, err := takeOver(ctx, a, b, check)
					if err == nil {
						_, err = fmt.Fprintln(cmd.OutOrStdout(), text)
					}
					return err
				})
			})
		},
	}
	old.register(cmd, p)
	flags := cmd.Flags()
	old.timeout = 5 * time.Minute // a second call may have to wait for max-ttl
	flags.Lookup("timeout").DefValue = old.timeout.String()
	flags.StringVar(&workers, "workers", "", "the old worker ids, such as 16-31 (default: all)")
	flags.StringVar(&store, "to-store", "", "the store of the new namespace (default: the same)")
	flags.StringVar(&namespace, "to-namespace", "", "the new namespace")
	flags.StringVar(&prefix, "to-prefix", "", "prefix of its tables or keys (default: the same)")
	flags.StringVar(&toWorkers, "to-workers", "", "the new worker ids, such as 512-1023 (default: all)")
	flags.BoolVar(&check, "check", false, "only check that ids of both sides are never equal")
	flags.BoolVar(&yes, "yes", false, "do not ask")
	must(cmd.MarkFlagRequired("to-namespace"))
	return cmd
}

// takeOver takes over, or only checks, and returns what to print.
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

// sideOf returns the worker ids of a namespace as a member with its pin asks for them. A retired
// namespace has forgotten its layout. If next took it over, that is of no more account.
func sideOf(ctx context.Context, o *target.Opened, namespace, flag, workers string, next *takeover.Side) (s takeover.Side, err error) {
	rec, err := o.Record(ctx, namespace)
	if err != nil {
		return s, fmt.Errorf("namespace %q at %s: %w", namespace, o, err)
	}
	pin := rec.Pin
	if pin.Retired && next != nil {
		slots, err := o.Slots(ctx, namespace)
		if err != nil {
			return s, err
		}
		pin = next.Request.Pin()
		pin.Pool = max(1, int64(len(slots)))
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
		err = errors.New("it is not one range")
	}
	if err != nil {
		return s, fmt.Errorf("--%s of namespace %q: %w", flag, namespace, err)
	}
	s.Request.First, s.Request.Last = list[0], list[len(list)-1]
	return s, nil
}
