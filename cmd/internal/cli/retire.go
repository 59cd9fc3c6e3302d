package cli

import (
	"context"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/spf13/cobra"
)

func retireCommand(p program) *cobra.Command {
	var (
		store       storeFlags
		reason      string
		yes, asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "retire --namespace NS [flags]",
		Short: "End a namespace for good, after its worker ids have moved elsewhere",
		Long: `Retire ends a namespace whose worker ids are used elsewhere: by another namespace, layout,
database or mode. A process that starts with the former configuration, such as one of a
deployment rolled back, fails with the given reason.

A takeover of a whole namespace retires it automatically. Retire cannot be undone.
Processes that still hold a worker id continue up to their ceilings.`,
		Example: `  snowlease retire --namespace orders --reason 'moved to namespace orders-2'`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := store.complete(cmd, false); err != nil {
				return err
			}
			if err := store.confirm(cmd, yes, "Retire namespace %q for good? It will lend no more worker ids.", store.namespace); err != nil {
				return err
			}
			return store.with(cmd, func(ctx context.Context, o *target.Opened) error {
				if err := o.Retire(ctx, store.namespace, reason); err != nil {
					return err
				}
				rec, err := o.Record(ctx, store.namespace)
				if err != nil {
					return err
				}
				return answer(cmd, asJSON, map[string]string{"namespace": store.namespace, "store": o.String(), "pin": printable.Text(rec.Pin.String())},
					"namespace %q at %s is %s\n", store.namespace, o, printable.Text(rec.Pin.String()))
			})
		},
	}
	store.register(cmd, p)
	cmd.Flags().StringVar(&reason, "reason", p.Name+" retire", "reason to show to processes that still start there")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	jsonFlag(cmd, &asJSON)
	return cmd
}
