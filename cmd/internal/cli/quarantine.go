package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
)

func quarantineCommand(p program) *cobra.Command {
	var (
		store       storeFlags
		reason      string
		yes, asJSON bool
	)
	cmd := &cobra.Command{
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
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := store.complete(cmd, false); err != nil {
				return err
			}
			if err := store.confirm(cmd, yes, "Put namespace %q in quarantine? New ids will carry times up to max-ttl ahead for a while.", store.namespace); err != nil {
				return err
			}
			return store.with(cmd, func(ctx context.Context, o *target.Opened) error {
				rec, err := o.Quarantine(ctx, store.namespace, "by hand: "+reason)
				if err != nil {
					return err
				}
				until := at(rec.Quarantine)
				return answer(cmd, asJSON, map[string]string{"namespace": store.namespace, "store": o.String(), "until": until},
					"namespace %q at %s lends only above %s\n", store.namespace, o, until)
			})
		},
	}
	store.register(cmd, p)
	cmd.Flags().StringVar(&reason, "reason", p.Name+" quarantine", "reason to show to processes that wait")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	jsonFlag(cmd, &asJSON)
	return cmd
}
