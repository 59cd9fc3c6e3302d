package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/printable"
)

func segmentListCommand(p program) *cobra.Command {
	var (
		store  storeFlags
		series string
	)
	cmd := &cobra.Command{
		Use:   "list [--series NAME] [flags]",
		Short: "List the sequences of a database, or the scopes of a series",
		Long: `List shows the greatest number of each sequence that processes have reserved, of the
namespace or of all. With --series, it shows the scopes of a series, such as
shop/invoices.acme, and the first day of the current period of each.`,
		Example: `  snowlease segment list
  snowlease segment list --namespace shop --series invoices`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ofSeries := cmd.Flags().Changed("series")
			if ofSeries && (series == "" || numberstore.CheckName(numberstore.Key("", series)) != nil) {
				return fmt.Errorf("--series %s is not the name of a series, such as invoices", printable.Quote(series))
			}
			if err := store.complete(cmd, !ofSeries); err != nil {
				return err
			}
			prefix := ""
			if store.namespace != "" {
				prefix = numberstore.Key(store.namespace, "")
			}
			if ofSeries {
				prefix += series + "."
			}
			return withSegments(cmd, &store, true, func(ctx context.Context, s target.Segments) error {
				const columns = "%19v  %-10s  %s\n"
				none := true
				err := s.(numberstore.InTx).Names(ctx, prefix, func(name string, given int64) error {
					if strings.HasPrefix(name, numberstore.Periods) { // not a number
						return nil
					}
					if none {
						fmt.Fprintf(cmd.OutOrStdout(), columns, "NUMBER", "PERIOD", "NAME")
					}
					none = false
					number, period := lineOf(given, ofSeries)
					fmt.Fprintf(cmd.OutOrStdout(), columns, number, period, printable.Text(name))
					return nil
				})
				if err == nil && none {
					fmt.Fprintf(cmd.OutOrStdout(), "no sequences at %s\n", s)
				}
				return err
			})
		},
	}
	store.register(cmd, p)
	cmd.Flags().StringVar(&series, "series", "", "only the scopes of this series")
	return cmd
}
