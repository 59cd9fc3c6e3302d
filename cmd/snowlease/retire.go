package main

import (
	"context"

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/spf13/cobra"
)

func retireCommand() *cobra.Command {
	var (
		store       storeFlags
		reason      string
		yes, asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "retire --namespace NS [flags]",
		Short: "End a namespace for good, after others got its worker ids",
		Long: `Retire ends a namespace whose worker ids others have now: another namespace, layout,
database or mode. Processes that come with the former configuration later, such as those
of a deployment that is rolled back, are refused and told the reason.

A takeover of a whole namespace does this by itself. There is no way back; processes that
still hold a worker id go on up to their ceilings.`,
		Example: `  snowlease retire --namespace orders --reason 'moved to namespace orders-2'`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := store.complete(false); err != nil {
				return err
			}
			if err := confirm(cmd, yes, "Retire namespace %q for good? Nobody is lent a worker id of it any more.", store.namespace); err != nil {
				return err
			}
			return store.with(cmd, func(ctx context.Context, o *opened) error {
				if err := o.Retire(ctx, store.namespace, reason); err != nil {
					return err
				}
				rec, err := o.Record(ctx, store.namespace)
				if err != nil {
					return err
				}
				return answer(cmd, asJSON, map[string]string{"namespace": store.namespace, "store": o.String(), "pin": rec.Pin},
					"namespace %q at %s is %s\n", store.namespace, o, printable.Text(rec.Pin))
			})
		},
	}
	store.register(cmd)
	cmd.Flags().StringVar(&reason, "reason", "snowlease retire", "what to tell those who come")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	jsonFlag(cmd, &asJSON)
	return cmd
}
