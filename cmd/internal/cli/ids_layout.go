package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/settings"
	"github.com/snowlease/snowlease/snowflake"
)

func layoutCommand() *cobra.Command {
	var flags layoutFlags
	cmd := &cobra.Command{
		Use:   "layout [flags]",
		Short: "Explain a layout",
		Long: `Layout explains a layout: its fields, when its time runs out, how many ids and replicas
it supports, and whether its ids fit a JavaScript number.`,
		Example: `  snowlease layout --preset twitter
  snowlease layout --bits 41/8/2/12`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := flags.read(cmd)
			if err != nil {
				return err
			}
			return failed(explain(cmd.OutOrStdout(), l.WithDefaults(), time.Now()))
		},
	}
	flags.register(cmd)
	flags.app.register(cmd)
	return cmd
}

const year = 365.2425 * 24 * float64(time.Hour)

// yearsLeft returns how long the time field of l lasts, or less than 0 if it has run out.
func yearsLeft(l snowflake.Layout, now time.Time) float64 {
	return float64(l.Ends().UnixMilli()-now.UnixMilli()) * float64(time.Millisecond) / year
}

func endOf(l snowflake.Layout) string { return l.Ends().UTC().Format(time.RFC3339) }

// perSecond returns how many ids a worker id has each second.
func perSecond(l snowflake.Layout) float64 {
	return float64(l.PerTick()) * float64(time.Second) / float64(l.TimeUnit)
}

// explain describes a layout for people.
func explain(w io.Writer, l snowflake.Layout, now time.Time) error {
	js := "yes"
	if l.Bits() > 53 {
		js = "no: send ids to JavaScript as strings"
	}
	t := columns(w)
	fmt.Fprintf(t, "fingerprint\t%s\n", l)
	fmt.Fprintf(t, "bits\t%d of 63: time %d, worker %d, business %d, sequence %d\n", l.Bits(), l.TimeBits, l.WorkerBits, l.BusinessBits, l.SequenceBits)
	fmt.Fprintf(t, "time\tticks of %v from %s to %s: %.1f years left\n", l.TimeUnit, l.TickTime(0).UTC().Format(stamp), endOf(l), yearsLeft(l, now))
	fmt.Fprintf(t, "workers\t%d, sufficient for %d replicas: deploys and crashes need the rest\n", l.Workers(), snowlease.Pool{Last: l.Workers() - 1}.Replicas())
	fmt.Fprintf(t, "business numbers\t%d\n", 1<<l.BusinessBits)
	fmt.Fprintf(t, "ids\t%d a tick, %.0f a second, for each worker and business number\n", l.PerTick(), perSecond(l))
	fmt.Fprintf(t, "safe for JavaScript\t%s\n", js)
	if err := l.CheckTime(now); err != nil {
		fmt.Fprintf(t, "FAULT\t%v\n", err)
	}
	if text := settings.FewIDs(l); text != "" {
		fmt.Fprintf(t, "NOTE\t%s\n", text)
	}
	return t.Flush()
}
