package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
)

// A change is a command that changes a namespace after a confirmation.
type change struct {
	store storeFlags
	// ask returns the question, with what it mentions of the records.
	ask func(ctx context.Context, o *target.Opened) (question string, err error)
	// do makes the change and describes it, in words that follow the name of the namespace.
	do func(ctx context.Context, o *target.Opened) (text string, err error)
}

// changeCommand completes cmd, which makes the change c.
func changeCommand(p program, cmd *cobra.Command, c *change) *cobra.Command {
	cmd.Args = noArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var question string
		err := c.store.run(cmd, func(ctx context.Context, o *target.Opened) (err error) {
			question, err = c.ask(ctx, o)
			return err
		})
		if err != nil {
			return err
		}
		if err := c.store.confirm(cmd, "%s", question); err != nil {
			return err
		}
		return c.store.with(cmd, func(ctx context.Context, o *target.Opened) error {
			text, err := c.do(ctx, o)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "namespace %q at %s %s\n", c.store.namespace, o, text)
			return nil
		})
	}
	c.store.register(cmd, p)
	c.store.registerYes(cmd)
	return cmd
}
