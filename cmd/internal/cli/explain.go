package cli

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/snowflake"
)

func layoutCommand() *cobra.Command {
	var (
		flags  layoutFlags
		want   wish
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "layout [flags]",
		Short: "Explain a layout, or design one",
		Long: `Layout explains a layout: its fields, when its time runs out, how many ids and replicas
it supports, and whether its ids fit a JavaScript number.

With --years, --replicas, --rate, --businesses or --js-safe, it designs a layout with at
least that capacity and prints it as configuration. Spare bits go to the sequence.`,
		Example: `  snowlease layout --preset twitter
  snowlease layout --years 50 --replicas 100 --rate 100000
  snowlease layout --js-safe --replicas 8 --rate 5000`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			designed := changed(cmd, "years replicas rate businesses js-safe")
			if designed && changed(cmd, "config preset bits unit") {
				return errors.New("leave one group out: --config, --preset, --bits, --unit, or --years, --replicas, --rate, --businesses, --js-safe")
			}
			l, err := flags.read(cmd)
			if err == nil && designed {
				l, err = want.design(l.Epoch, time.Now())
			}
			if err != nil {
				return err
			}
			v := explain(l, time.Now())
			if asJSON {
				return failed(printJSON(cmd.OutOrStdout(), v))
			}
			return failed(v.print(cmd.OutOrStdout(), l, designed))
		},
	}
	flags.register(cmd)
	flags.app.register(cmd)
	f := cmd.Flags()
	f.Float64Var(&want.years, "years", 30, "design: how many years from now it lasts")
	f.Int64Var(&want.replicas, "replicas", 16, "design: how many replicas run at a time; there are twice as many worker ids, for deploys and crashes")
	f.Int64Var(&want.rate, "rate", 100_000, "design: how many ids a second one replica issues, for one business number")
	f.Int64Var(&want.businesses, "businesses", 1, "design: how many business numbers there are")
	f.BoolVar(&want.jsSafe, "js-safe", false, "design: ids fit a JavaScript number (53 bits)")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// A wish is what a designed layout must support.
type wish struct {
	years                      float64
	replicas, rate, businesses int64
	jsSafe                     bool
}

const year = 365.2425 * 24 * float64(time.Hour)

// design returns the layout with the finest ticks that fulfills w.
func (w wish) design(epoch int64, now time.Time) (snowflake.Layout, error) {
	if w.years < 1 || w.years > 200 || w.replicas < 1 || w.replicas > 1<<19 || w.rate < 1 || w.rate > 1e12 || w.businesses < 1 || w.businesses > 1<<20 {
		return snowflake.Layout{}, errors.New("give 1 to 200 --years, 1 to 524288 --replicas, a --rate of 1 to 1000000000000, 1 to 1048576 --businesses")
	}
	total := 63
	if w.jsSafe {
		total = 53
	}
	end := now.UnixMilli() + int64(w.years*year/float64(time.Millisecond))
	for _, unit := range []time.Duration{time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, time.Second} {
		ms := int64(unit / time.Millisecond)
		ids := (w.rate*ms + 999) / 1000
		l := snowflake.Layout{
			Epoch: epoch, TimeUnit: unit,
			TimeBits:     uint8(bits.Len64(uint64((end - epoch) / ms))),
			WorkerBits:   uint8(max(1, bits.Len64(uint64(2*w.replicas-1)))),
			BusinessBits: uint8(bits.Len64(uint64(w.businesses - 1))),
			SequenceBits: uint8(max(1, bits.Len64(uint64(ids-1)))),
		}
		if left := total - l.Bits(); left >= 0 {
			l.SequenceBits = uint8(min(31, int(l.SequenceBits)+left))
			return l, errors.Join(l.Validate(), l.CheckTime(now))
		}
	}
	return snowflake.Layout{}, fmt.Errorf("no layout of %d bits is large enough: ask for fewer years, replicas, ids a second or business numbers", total)
}

// layoutView describes a layout.
type layoutView struct {
	Fingerprint string `json:"fingerprint"`
	Bits        int    `json:"bits"`
	JSSafe      bool   `json:"js_safe"`
	Fields      struct {
		Time     uint8 `json:"time"`
		Worker   uint8 `json:"worker"`
		Business uint8 `json:"business"`
		Sequence uint8 `json:"sequence"`
	} `json:"fields"`
	Epoch     string  `json:"epoch"`
	Unit      string  `json:"unit"`
	Ends      string  `json:"ends"`
	YearsLeft float64 `json:"years_left"`
	Workers   int64   `json:"workers"`
	Replicas  int64   `json:"replicas"`
	Business  int64   `json:"business_numbers"`
	PerTick   int64   `json:"ids_per_tick"`
	PerSecond float64 `json:"ids_per_second"`
	Digits    int     `json:"digits"`
	Fault     string  `json:"fault,omitempty"`
}

func explain(l snowflake.Layout, now time.Time) layoutView {
	l = l.WithDefaults()
	v := layoutView{
		Fingerprint: l.String(), Bits: l.Bits(), JSSafe: l.Bits() <= 53,
		Epoch: at(l.Epoch), Unit: l.TimeUnit.String(), Ends: l.Ends().UTC().Format(time.RFC3339),
		YearsLeft: float64(l.Ends().UnixMilli()-now.UnixMilli()) * float64(time.Millisecond) / year,
		Workers:   l.Workers(), Replicas: snowlease.Pool{Last: l.Workers() - 1}.Replicas(), Business: 1 << l.BusinessBits,
		PerTick: l.PerTick(), PerSecond: float64(l.PerTick()) * float64(time.Second) / float64(l.TimeUnit),
	}
	v.Digits = len(strconv.FormatUint(1<<l.Bits()-1, 10))
	v.Fields.Time, v.Fields.Worker, v.Fields.Business, v.Fields.Sequence = l.TimeBits, l.WorkerBits, l.BusinessBits, l.SequenceBits
	if err := l.CheckTime(now); err != nil {
		v.Fault = err.Error()
	}
	return v
}

func (v layoutView) print(w io.Writer, l snowflake.Layout, designed bool) error {
	js := "no: send ids to JavaScript as strings"
	if v.JSSafe {
		js = "yes"
	}
	rows := [][]string{
		{"fingerprint", v.Fingerprint},
		{"bits", fmt.Sprintf("%d of 63: time %d, worker %d, business %d, sequence %d; up to %d digits", v.Bits, v.Fields.Time, v.Fields.Worker, v.Fields.Business, v.Fields.Sequence, v.Digits)},
		{"time", fmt.Sprintf("ticks of %s from %s to %s: %.1f years left", v.Unit, v.Epoch, v.Ends, v.YearsLeft)},
		{"workers", fmt.Sprintf("%d, sufficient for %d replicas: deploys and crashes need the rest", v.Workers, v.Replicas)},
		{"business numbers", strconv.FormatInt(v.Business, 10)},
		{"ids", fmt.Sprintf("%d a tick, %.0f a second, for each worker and business number", v.PerTick, v.PerSecond)},
		{"safe for JavaScript", js},
	}
	if v.Fault != "" {
		rows = append(rows, []string{"FAULT", v.Fault})
	}
	if err := printTable(w, rows); err != nil || !designed {
		return err
	}
	_, err := fmt.Fprintf(w, `
idworker:
  layout:
    epoch: %d
    time_unit: %v
    time_bits: %d
    worker_bits: %d
    business_bits: %d
    sequence_bits: %d
`, l.Epoch, l.TimeUnit, l.TimeBits, l.WorkerBits, l.BusinessBits, l.SequenceBits)
	return err
}
