package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/internal/printable"
)

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
Processes that still hold a worker id continue up to their ceilings. If retire reports a
quarantine, records were lost: run it again when their ids are no longer in use.`,
		Example: `  snowlease retire --namespace orders --reason 'moved to namespace orders-2'`,
	}, c)
	cmd.Flags().StringVar(&reason, "reason", p.Name+" retire", "reason to show to processes that still start there")
	return cmd
}
