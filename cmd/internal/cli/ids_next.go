package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/lease"
)

func nextCommand(p program) *cobra.Command {
	var (
		store   storeFlags
		workers string
		n       uint16
	)
	cmd := &cobra.Command{
		Use:   "next --namespace NS [-n N]",
		Short: "Print new ids, for SQL scripts and seeds",
		Long: `Next leases a worker id of the namespace, prints new ids and releases the worker id. The
namespace must exist; its record has the layout.`,
		Example: `  snowlease next --namespace orders -n 100`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return store.run(cmd, func(ctx context.Context, o *target.Opened) error {
				rec, err := o.Record(ctx, store.namespace)
				if err != nil {
					return err
				}
				layout, err := parseLayout(rec.Pin.Layout)
				if err := errors.Join(rec.Pin.Err(), err); err != nil {
					return err
				}
				ttl := min(rec.Pin.MaxTTL, lease.DefaultTTL) // a longer one would keep the pin from falling
				cfg := snowlease.Config{
					Namespace: store.namespace, Layout: layout, Reserved: 1<<layout.WorkerBits - rec.Pin.Pool, Workers: snowlease.Workers(workers),
					TTL: ttl, MaxTTL: ttl, Skew: min(rec.Pin.Skew, lease.DefaultSkew),
				}
				if app := store.app.config; app != nil {
					cfg.Workers, cfg.Business = cmp.Or(cfg.Workers, app.Workers), app.Business
				}
				w, err := snowlease.Open(ctx, o.Center, cfg)
				if err != nil {
					return err
				}
				ids := make([]int64, n)
				if err := errors.Join(w.NextIDs(ctx, ids), w.Close()); err != nil {
					return err
				}
				for _, id := range ids {
					fmt.Fprintln(cmd.OutOrStdout(), id)
				}
				return nil
			})
		},
	}
	store.register(cmd, p)
	cmd.Flags().StringVar(&workers, "workers", "", "the worker ids to borrow, such as 0-15 (default: those of --config, or all)")
	cmd.Flags().Uint16VarP(&n, "count", "n", 1, "how many ids, at most 65535")
	return cmd
}
