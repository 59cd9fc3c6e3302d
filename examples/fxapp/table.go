package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/snowlease/snowlease/snowflake"
)

// printTable writes each row that belongs to the orders, with its id taken apart.
func printTable(out io.Writer, layout snowflake.Layout, orders []Order) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tTIME\tWORKER\tSEQUENCE\tROW")
	row := func(id int64, format string, args ...any) error {
		p, err := layout.Decode(id)
		if err == nil {
			_, err = fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%s\n", id, p.Time.Format("2006-01-02T15:04:05.000Z"), p.Worker, p.Sequence, fmt.Sprintf(format, args...))
		}
		return err
	}
	for _, o := range orders {
		if err := row(o.ID, "order of %s, %s, invoice %s", o.Customer.Name, money(o.TotalCents), o.Number); err != nil {
			return err
		}
		for _, i := range o.Items {
			if err := row(i.ID, "- %d x %s at %s", i.Quantity, i.Product, money(i.PriceCents)); err != nil {
				return err
			}
		}
	}
	return w.Flush()
}

func money(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }
