package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
)

// A change is what a command does to a namespace after a question.
type change struct {
	store storeFlags
	// look, if not nil, reads what question needs.
	look     func(ctx context.Context, o *target.Opened) error
	question func() string
	// do returns what was done, which follows the name of the namespace.
	do  func(ctx context.Context, o *target.Opened) (text string, err error)
	yes bool
}

// changeCommand makes c the command cmd.
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
	cmd.Flags().BoolVar(&c.yes, "yes", false, "do not ask")
	return cmd
}
