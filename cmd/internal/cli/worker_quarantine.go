package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
)

func quarantineCommand(p program) *cobra.Command {
	var reason string
	c := new(change)
	c.ask = func(context.Context, *target.Opened) (string, error) {
		return fmt.Sprintf("Put namespace %q in quarantine? New ids will carry times up to max-ttl ahead for a while.", c.store.namespace), nil
	}
	c.do = func(ctx context.Context, o *target.Opened) (string, error) {
		rec, err := o.Quarantine(ctx, c.store.namespace, "operator: "+reason)
		return "lends only above " + at(rec.Quarantine), err
	}
	cmd := changeCommand(p, &cobra.Command{
		Use:   "quarantine --namespace NS [flags]",
		Short: "Lend above all forgotten leases after restoring a backup",
		Long: `Quarantine makes a namespace grant only leases whose times lie above every lease that the
store may have lost: later than now + max-ttl + skew, as pinned. Processes keep running.
New ids carry times up to max-ttl ahead until the clock catches up. With exact_times, a
process without a worker id waits until then.

Use it after restoring a store from a backup: the store lacks the leases granted since the
backup, and snowlease may not detect that. Run it before the service reaches the restored
store, because the marks there may be too low. Without this command, snowlease detects lost
records, and also failovers and restarts unless store.durable is true.`,
		Example: `  snowlease quarantine --namespace orders --reason 'backup of 06:00 restored'`,
	}, c)
	cmd.Flags().StringVar(&reason, "reason", p.Name+" quarantine", "reason to show to processes that wait")
	return cmd
}
