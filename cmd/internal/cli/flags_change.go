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
	// look, if not nil, reads the records that question mentions.
	look     func(ctx context.Context, o *target.Opened) error
	question func() string
	// do makes the change and describes it, in words that follow the name of the namespace.
	do  func(ctx context.Context, o *target.Opened) (text string, err error)
	yes bool
}

// changeCommand completes cmd, which makes the change c.
func changeCommand(p program, cmd *cobra.Command, c *change) *cobra.Command {
	cmd.Args = noArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.store.complete(cmd, false); err != nil {
			return err
		}
		if c.look != nil {
			if err := c.store.with(cmd, c.look); err != nil {
				return err
			}
		}
		if err := c.store.confirm(cmd, c.yes, "%s", c.question()); err != nil {
			return err
		}
		return c.store.with(cmd, func(ctx context.Context, o *target.Opened) error {
			text, err := c.do(ctx, o)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "namespace %q at %s %s\n", c.store.namespace, o, text)
			return err
		})
	}
	c.store.register(cmd, p)
	cmd.Flags().BoolVar(&c.yes, "yes", false, "do not ask for confirmation")
	return cmd
}
