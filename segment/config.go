package segment

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"
)

// Values of Config.Order and Config.Create.
const (
	OrderProcess = "process"
	OrderStrict  = "strict"

	CreateAuto  = "auto"
	CreateNever = "never"
)

// Config says which numbers an Issuer issues and how. Zero means the default. A
// time.Duration reads "30s" in YAML, koanf and mapstructure; in JSON it is a number of
// nanoseconds.
type Config struct {
	// Name is what shares one sequence of numbers. 1 to 64 characters of
	// A-Z a-z 0-9 . _ - ; required.
	Name string `yaml:"name" json:"name" koanf:"name" mapstructure:"name" env:"NAME"`
	// Order is process, which prefetches, or strict, which asks the store for each
	// number. Default: process.
	Order string `yaml:"order" json:"order" koanf:"order" mapstructure:"order" env:"ORDER"`
	// Start is the first number of a name that is created, 1 to Max. A name that
	// exists goes on where it is. Default: 1.
	Start int64 `yaml:"start" json:"start" koanf:"start" mapstructure:"start" env:"START"`
	// Max is the greatest number, such as 2147483647 for a column of 32 bits or
	// 9007199254740991 for JavaScript. All processes should have the same. Default:
	// 9223372036854775807.
	Max int64 `yaml:"max" json:"max" koanf:"max" mapstructure:"max" env:"MAX"`
	// Create is auto, which lets the first use create the name, or never, which wants
	// it created by an administrator. Default: auto.
	Create string `yaml:"create" json:"create" koanf:"create" mapstructure:"create" env:"CREATE"`
	// Step is how many numbers the first segment has, MinStep to MaxStep. Default: 100.
	Step int64 `yaml:"step" json:"step" koanf:"step" mapstructure:"step" env:"STEP"`
	// MinStep is the least that a segment has: what is left of it is lost when the
	// process ends. 1 to Step. Default: 10.
	MinStep int64 `yaml:"min_step" json:"min_step" koanf:"min_step" mapstructure:"min_step" env:"MIN_STEP"`
	// MaxStep is the most that a segment has. Step to 1000000000. Default: 1000000.
	MaxStep int64 `yaml:"max_step" json:"max_step" koanf:"max_step" mapstructure:"max_step" env:"MAX_STEP"`
	// Cover is how long a segment is to last at the present rate, 100ms to 24h.
	// Default: 10s.
	Cover time.Duration `yaml:"cover" json:"cover" koanf:"cover" mapstructure:"cover" env:"COVER"`
	// Wait bounds how long NextID waits for the store. Default: 1s.
	Wait time.Duration `yaml:"wait" json:"wait" koanf:"wait" mapstructure:"wait" env:"WAIT"`
}

// WithDefaults returns c with its zero fields filled in.
func (c Config) WithDefaults() Config {
	c.Order = cmp.Or(c.Order, OrderProcess)
	c.Start = cmp.Or(c.Start, 1)
	c.Max = cmp.Or(c.Max, math.MaxInt64)
	c.Create = cmp.Or(c.Create, CreateAuto)
	if c.Step == 0 { // 100, or what the others allow that is next to it
		c.Step = max(100, c.MinStep)
		if c.MaxStep != 0 {
			c.Step = min(c.Step, c.MaxStep)
		}
	}
	c.MinStep = cmp.Or(c.MinStep, min(10, c.Step))
	c.MaxStep = cmp.Or(c.MaxStep, max(1_000_000, c.Step))
	c.Cover = cmp.Or(c.Cover, 10*time.Second)
	c.Wait = cmp.Or(c.Wait, time.Second)
	return c
}

// Validate reports every fault of c, defaults filled in, in one error, or nil.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("segment: config: "+format, args...))
	}
	if c.Name == "" {
		fault(`name is empty: name what shares one sequence of numbers, such as "orders"`)
	} else if err := CheckName(c.Name); err != nil {
		fault("%w", err)
	}
	if c.Order != OrderProcess && c.Order != OrderStrict {
		fault("order %q is unknown: choose %s or %s", c.Order, OrderProcess, OrderStrict)
	}
	if c.Create != CreateAuto && c.Create != CreateNever {
		fault("create %q is unknown: choose %s or %s", c.Create, CreateAuto, CreateNever)
	}
	if c.Max < 1 {
		fault("max %d is no number that can be issued: give at least 1, or none for %d", c.Max, int64(math.MaxInt64))
	}
	if c.Start < 1 || c.Start > max(c.Max, 1) {
		fault("start %d is not from 1 to max (%d)", c.Start, c.Max)
	}
	if c.MinStep < 1 || c.Step < c.MinStep || c.MaxStep < c.Step || c.MaxStep > MaxReservation {
		fault("min_step %d, step %d, max_step %d: give 1 <= min_step <= step <= max_step <= %d", c.MinStep, c.Step, c.MaxStep, MaxReservation)
	}
	if c.Cover < 100*time.Millisecond || c.Cover > 24*time.Hour {
		fault("cover %v is not from 100ms to 24h", c.Cover)
	}
	if c.Wait < 0 {
		fault("wait %v is negative: give how long NextID may wait for the store, such as 1s", c.Wait)
	}
	return errors.Join(errs...)
}

// Request is c's request for n numbers above a given one.
func (c Config) Request(n, above int64) Request {
	c = c.WithDefaults()
	return Request{Name: c.Name, N: n, Above: above, Max: c.Max, Start: c.Start, Create: c.Create == CreateAuto}
}

// NextStep returns how many numbers the segment after one of step numbers is to have,
// when used numbers were issued in a time: as many as last for Cover at that rate,
// but at most eight times and at least half of step, and within MinStep and MaxStep. It
// grows faster than it shrinks, since a segment that is too small makes callers wait
// and one that is too large is but a gap.
func (c Config) NextStep(step, used int64, in time.Duration) int64 {
	c = c.WithDefaults()
	if used > 0 {
		want := float64(used) * float64(c.Cover) / float64(max(in, 1))
		step = int64(min(max(want, float64(step)/2), float64(step)*8, MaxReservation))
	}
	return min(max(step, c.MinStep), c.MaxStep)
}
