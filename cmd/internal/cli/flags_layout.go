package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/snowflake"
)

// layoutFlags select a layout: a preset with changes, or the layout of the application's
// configuration.
type layoutFlags struct {
	preset, epoch, bits string
	unit                time.Duration
	app                 configFlags // registered by commands without a store
}

func (f *layoutFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.preset, "preset", "default", "preset of the layout: default, twitter, discord, wide, yitter or jssafe")
	f.registerParts(cmd, "the preset's")
}

// registerParts adds the layout flags other than --preset.
func (f *layoutFlags) registerParts(cmd *cobra.Command, otherwise string) {
	flags := cmd.Flags()
	flags.StringVar(&f.epoch, "epoch", "", "start of time, Unix milliseconds, 0 for 1970, or RFC 3339 (default: "+otherwise+")")
	flags.DurationVar(&f.unit, "unit", 0, "length of a tick (default: "+otherwise+")")
	flags.StringVar(&f.bits, "bits", "", "widths time/worker/business/sequence, such as 41/5/0/17 (default: "+otherwise+")")
}

// layoutParts lists the flags that register adds.
const layoutParts = "preset epoch unit bits"

// read returns the layout of the application's configuration, or else the one of the other
// flags.
func (f *layoutFlags) read(cmd *cobra.Command) (snowflake.Layout, error) {
	if err := f.app.read(cmd); err != nil {
		return snowflake.Layout{}, err
	}
	if f.app.config == nil {
		return f.layout()
	}
	return layoutOf(*f.app.config), nil
}

// layoutOf returns the layout of a valid configuration.
func layoutOf(c idworker.Config) snowflake.Layout {
	if c.Preset == "" {
		return c.Layout.WithDefaults()
	}
	l, err := snowflake.Preset(c.Preset)
	must(err)
	return l
}

func (f *layoutFlags) layout() (snowflake.Layout, error) {
	l, err := snowflake.Preset(f.preset)
	if err != nil {
		return l, err
	}
	return f.over(l)
}

// over returns l with the changes that the flags make.
func (f *layoutFlags) over(l snowflake.Layout) (_ snowflake.Layout, err error) {
	if f.epoch != "" {
		if l.Epoch, err = parseEpoch(f.epoch); err != nil {
			return l, err
		}
	}
	if f.unit != 0 {
		l.TimeUnit = f.unit
	}
	if f.bits != "" {
		if err := parseBits(f.bits, &l); err != nil {
			return l, err
		}
	}
	return l, l.Validate()
}

// parseTime parses Unix milliseconds or RFC 3339.
func parseTime(s string) (time.Time, error) {
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
		t := time.UnixMilli(ms).UTC()
		if ms > 0 && t.Year() < 2000 {
			return t, fmt.Errorf("%d is %s, before 2000: give Unix milliseconds, as %d for %s, or a date", ms, t.Format(time.RFC3339), ms*1000, time.Unix(ms, 0).UTC().Format(time.RFC3339))
		}
		return t, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, fmt.Errorf("%s is neither Unix milliseconds nor a time like 2020-01-01T00:00:00Z", printable.Quote(s))
	}
	return t, nil
}

func parseEpoch(s string) (int64, error) {
	t, err := parseTime(s)
	if err == nil && t.UnixMilli() < 0 {
		err = fmt.Errorf("%q is before 1970", s)
	}
	if err != nil {
		return 0, fmt.Errorf("--epoch %w", err)
	}
	return cmp.Or(t.UnixMilli(), snowflake.UnixEpoch), nil
}

func parseBits(s string, l *snowflake.Layout) error {
	if _, err := fmt.Sscanf(s+"\n", "%d/%d/%d/%d\n", &l.TimeBits, &l.WorkerBits, &l.BusinessBits, &l.SequenceBits); err != nil {
		return fmt.Errorf("--bits %s is not time/worker/business/sequence, such as 41/5/0/17", printable.Quote(s))
	}
	if min(l.TimeBits, l.WorkerBits, l.SequenceBits) == 0 {
		return fmt.Errorf("--bits %q: only the business field may have no bits", s)
	}
	return nil
}

// parseLayout parses the fingerprint of a layout, as in a pin.
func parseLayout(fingerprint string) (snowflake.Layout, error) {
	var epoch, unit, bits string
	if _, err := fmt.Sscanf(fingerprint, "epoch=%s unit=%s bits=%s", &epoch, &unit, &bits); err == nil {
		if d, err := time.ParseDuration(unit); err == nil {
			l, err := (&layoutFlags{epoch: epoch, unit: d, bits: bits}).layout()
			if err == nil && l.String() == fingerprint {
				return l, nil
			}
		}
	}
	return snowflake.Layout{}, fmt.Errorf("%q is not the fingerprint of a layout", fingerprint)
}
