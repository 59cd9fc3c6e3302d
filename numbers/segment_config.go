package numbers

import (
	"cmp"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/settings"
)

// SegmentConfig configures a Segment. Zero fields take the default. A time.Duration is written
// as "30s" in YAML; in JSON it is a number of nanoseconds.
type SegmentConfig struct {
	// Namespace names the service that the numbers belong to: 1 to 64 characters of A-Z a-z 0-9
	// . _ - . Services that share numbers use the same Namespace. Required, except in
	// idworker.Config, where the default is its Namespace.
	Namespace string `yaml:"namespace" json:"namespace" env:"NAMESPACE"`
	// Name identifies the sequence of numbers, 1 to 64 characters of A-Z a-z 0-9 . _ - . All
	// Segments with the same Namespace and Name share the sequence. Required.
	Name string `yaml:"name" json:"name" env:"NAME"`
	// Strict makes numbers ascend across all processes: each call queries the store. Default:
	// false, which prefetches numbers, so that they ascend within a process only.
	Strict bool `yaml:"strict" json:"strict" env:"STRICT"`
	// Start is the first number of a name that does not exist yet, 1 to Max. An
	// existing name continues where it is. Default: 1.
	Start int64 `yaml:"start" json:"start" env:"START"`
	// Max is the greatest number, such as 2147483647 for a 32-bit column or
	// 9007199254740991 for JavaScript. All processes should use the same value.
	// Default: 9223372036854775807.
	Max int64 `yaml:"max" json:"max" env:"MAX"`
	// MustExist requires that an administrator has created the name. A store on Redis alone never
	// creates names: see redisseq.Numbers. Default: false, which creates the name on first use.
	// Either way, a Segment that has had numbers does not create the name again if the store loses
	// it.
	MustExist bool `yaml:"must_exist" json:"must_exist" env:"MUST_EXIST"`
	// Step is the size of the first segment, MinStep to MaxStep. Default: 100, or the
	// nearest value from MinStep to MaxStep.
	Step int64 `yaml:"step" json:"step" env:"STEP"`
	// MinStep is the minimum size of a segment, 1 to Step. Unissued numbers of a process that
	// ends are lost. Default: 10, or Step if that is less.
	MinStep int64 `yaml:"min_step" json:"min_step" env:"MIN_STEP"`
	// MaxStep is the maximum size of a segment, Step to 1000000000. In strict order, it is the
	// maximum size of one request. Default: 1000000, or Step if that is greater.
	MaxStep int64 `yaml:"max_step" json:"max_step" env:"MAX_STEP"`
	// Cover is how long a segment should last at the current rate, 100ms to 24h.
	// Default: 10s.
	Cover time.Duration `yaml:"cover" json:"cover" env:"COVER"`
	// Logger logs changes in the state of the store: a warning when it begins to fail and one line
	// when it responds again. It does not log failures caused by Close or by a caller whose context
	// ends within a second. Default: no logging; idworker sets its own logger.
	Logger *slog.Logger `yaml:"-" json:"-" env:"-"`
}

// withDefaults returns c with its zero fields filled in.
func (c SegmentConfig) withDefaults() SegmentConfig {
	c.Start = cmp.Or(c.Start, 1)
	c.Max = cmp.Or(c.Max, math.MaxInt64)
	steps := numberstore.Steps{Min: c.MinStep, Max: c.MaxStep, Cover: c.Cover}.WithDefaults(&c.Step)
	c.MinStep, c.MaxStep, c.Cover = steps.Min, steps.Max, steps.Cover
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// Validate fills in defaults and returns all faults of c joined into one error, or nil.
func (c SegmentConfig) Validate() error {
	c = c.withDefaults()
	f := fault.List{In: "segment: config"}
	settings.Check{List: &f, Name: strings.ToLower}.Namespace(c.Namespace)
	f.Check("name", nil, c.Name == "", `is empty: name the sequence of numbers, such as "orders"`)
	f.Check("name", c.Name, len(c.Name) > 64 || numberstore.CheckName(numberstore.Key("", c.Name)) != nil, "is not 1 to 64 characters of A-Z a-z 0-9 . _ -")
	f.Check("max", c.Max, c.Max < 1, "is below 1: give at least 1, or none for %d", int64(math.MaxInt64))
	f.Check("start", c.Start, c.Start < 1 || c.Start > max(c.Max, 1), "is not from 1 to max (%d)", c.Max)
	f.Check("step", c.Step, c.MinStep < 1 || c.Step < c.MinStep || c.MaxStep < c.Step || c.MaxStep > numberstore.MaxReservation,
		"with min_step %d and max_step %d is out of order: give 1 <= min_step <= step <= max_step <= %d", c.MinStep, c.MaxStep, numberstore.MaxReservation)
	f.Check("cover", c.Cover, c.Cover < 100*time.Millisecond || c.Cover > 24*time.Hour, "is not from 100ms to 24h")
	return f.Err()
}

// key returns the name of the record.
func (c SegmentConfig) key() string { return numberstore.Key(c.Namespace, c.Name) }

// request returns a request for n numbers greater than above, which is 0 for the first request.
// Later requests do not create the name: a store that has lost the name may have provided
// greater numbers to other processes.
func (c SegmentConfig) request(n, above int64) numberstore.Request {
	return numberstore.Request{Name: c.key(), N: n, Above: above, Max: c.Max, Start: c.Start, Create: !c.MustExist && above == 0}
}
