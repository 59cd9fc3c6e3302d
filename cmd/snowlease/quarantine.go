package main

import (
	"context"

	"github.com/spf13/cobra"
)

func quarantineCommand() *cobra.Command {
	var (
		store       storeFlags
		reason      string
		yes, asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "quarantine --namespace NS [flags]",
		Short: "Lend above all that may have been forgotten, after a backup was restored",
		Long: `Quarantine lets a namespace lend only above every lease that the store may have
forgotten: above max-ttl and skew from now, as the namespace has pinned them. All
processes go on, and their new ids carry times up to max-ttl ahead until the clock has
caught up. One with exact_times that has no worker id waits until then.

It is for a store that was restored from a backup, which knows nothing of what was lent
since and may not look changed. Do it before the service reaches the restored store:
what is lent until then is lent by marks that may be too low. A failover, a restart and
lost records are noticed without it.`,
		Example: `  snowlease quarantine --namespace orders --reason 'backup of 06:00 restored'`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := store.complete(false); err != nil {
				return err
			}
			if err := confirm(cmd, yes, "Put namespace %q in quarantine? Its new ids carry times up to max-ttl ahead for a while.", store.namespace); err != nil {
				return err
			}
			return store.with(cmd, func(ctx context.Context, o *opened) error {
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
	store.register(cmd)
	cmd.Flags().StringVar(&reason, "reason", "snowlease quarantine", "what to tell those who wait")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	jsonFlag(cmd, &asJSON)
	return cmd
}
