package cli

import (
	"fmt"
	"strconv"
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
			return failed(printTable(cmd.OutOrStdout(), explain(l.WithDefaults(), time.Now())))
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

// explain describes a layout for people, in rows of a name and a value.
func explain(l snowflake.Layout, now time.Time) [][]string {
	js := "yes"
	if l.Bits() > 53 {
		js = "no: send ids to JavaScript as strings"
	}
	rows := [][]string{
		{"fingerprint", l.String()},
		{"bits", fmt.Sprintf("%d of 63: time %d, worker %d, business %d, sequence %d", l.Bits(), l.TimeBits, l.WorkerBits, l.BusinessBits, l.SequenceBits)},
		{"time", fmt.Sprintf("ticks of %v from %s to %s: %.1f years left", l.TimeUnit, l.TickTime(0).UTC().Format(stamp), endOf(l), yearsLeft(l, now))},
		{"workers", fmt.Sprintf("%d, sufficient for %d replicas: deploys and crashes need the rest", l.Workers(), snowlease.Pool{Last: l.Workers() - 1}.Replicas())},
		{"business numbers", strconv.FormatInt(1<<l.BusinessBits, 10)},
		{"ids", fmt.Sprintf("%d a tick, %.0f a second, for each worker and business number", l.PerTick(), perSecond(l))},
		{"safe for JavaScript", js},
	}
	if err := l.CheckTime(now); err != nil {
		rows = append(rows, []string{"FAULT", err.Error()})
	}
	if text := settings.FewIDs(l); text != "" {
		rows = append(rows, []string{"NOTE", text})
	}
	return rows
}
