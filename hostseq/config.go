package hostseq

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"github.com/snowlease/snowlease/snowflake"
)

// Source says where a worker id comes from.
type Source string

// The sources.
const (
	Explicit Source = "explicit" // Config.Worker
	Ordinal  Source = "ordinal"  // the N of a host name that ends in -N
	Lock     Source = "lock"     // a slot of this host, and bits of its address
	Hash     Source = "hash"     // machine and process id: may collide
)

// DefaultMaxBehind is how far the clock may be behind by default.
const DefaultMaxBehind = 5 * time.Minute

// Config says how worker ids are found. Zero means the default.
type Config struct {
	// Sources are asked in this order; the first that there is on this host gives the
	// worker id. Default: explicit where Worker is set, else lock.
	Sources []Source `yaml:"sources" json:"sources" koanf:"sources" mapstructure:"sources" env:"SOURCES"`
	// Worker is the worker id of source explicit: a number of the layout's.
	Worker *int64 `yaml:"worker" json:"worker" koanf:"worker" mapstructure:"worker" env:"WORKER"`
	// Dir is the absolute path of the directory for locks and records, which the
	// processes of the host share. It is made if it is not there (0700); everyone
	// being able to write to it is an error. Default: /var/lib/snowlease for root,
	// $XDG_STATE_HOME/snowlease or ~/.local/state/snowlease for other users, below
	// ~/Library/Application Support on macOS. Source lock in a container refuses the
	// default, which other containers do not see, unless MachineBits is set.
	Dir string `yaml:"dir" json:"dir" koanf:"dir" mapstructure:"dir" env:"DIR"`
	// MachineBits is how many of the upper bits of a worker id source lock takes from
	// the end of the host's private address; the others number the processes of the
	// host. All hosts of a namespace have the same. Default: 0, for one host.
	MachineBits uint8 `yaml:"machine_bits" json:"machine_bits" koanf:"machine_bits" mapstructure:"machine_bits" env:"MACHINE_BITS"`
	// Network, such as "10.1.0.0/16", is where the address for MachineBits lies.
	// Default: the private address that the host reaches others from, or its only one.
	Network string `yaml:"network" json:"network" koanf:"network" mapstructure:"network" env:"NETWORK"`
	// MaxBehind is how far the clock of the host may have been set back, at most 24h.
	// Ids go on above the last use, though that is ahead of the clock. What a crash
	// leaves ahead of the clock, MaxTTL of the lease, is allowed on top. Default: 5m.
	MaxBehind time.Duration `yaml:"max_behind" json:"max_behind" koanf:"max_behind" mapstructure:"max_behind" env:"MAX_BEHIND"`
	// Stateless does without directory, locks and records, for a host that has no
	// place for them. It relies on the host's clock, which must not be set back
	// across a restart, and notices no other process. Not for source lock.
	Stateless bool `yaml:"stateless" json:"stateless" koanf:"stateless" mapstructure:"stateless" env:"STATELESS"`
}

// WithDefaults returns c with its zero fields filled in, but for Dir and Network, which
// are looked up when they are needed.
func (c Config) WithDefaults() Config {
	if len(c.Sources) == 0 {
		c.Sources = []Source{Lock}
		if c.Worker != nil {
			c.Sources = []Source{Explicit}
		}
	}
	c.MaxBehind = cmp.Or(c.MaxBehind, DefaultMaxBehind)
	return c
}

// Validate reports every fault of c for the layout, defaults filled in, in one error,
// or nil. It does not look at the host.
func (c Config) Validate(l snowflake.Layout) error {
	c = c.WithDefaults()
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("local: config: "+format, args...))
	}
	if err := l.Validate(); err != nil {
		errs = append(errs, err)
		l = snowflake.Layout{} // to go on looking for faults
	}
	l = l.WithDefaults()
	for i, s := range c.Sources {
		switch {
		case s != Explicit && s != Ordinal && s != Lock && s != Hash:
			fault("source %q is unknown: choose of %s, %s, %s, %s", s, Explicit, Ordinal, Lock, Hash)
		case slices.Contains(c.Sources[:i], s):
			fault("source %s is there twice: name it once", s)
		}
	}
	lock := slices.Contains(c.Sources, Lock)
	if c.Worker != nil {
		if *c.Worker < 0 || *c.Worker >= l.Workers() {
			fault("worker %d is not 0 to %d, which the layout's %d worker bits hold", *c.Worker, l.Workers()-1, l.WorkerBits)
		}
		if !slices.Contains(c.Sources, Explicit) {
			fault("worker %d is set, but sources %v have no %s: add it, or leave worker out", *c.Worker, c.Sources, Explicit)
		}
	}
	if c.Dir != "" && !filepath.IsAbs(c.Dir) {
		fault("dir %q is not an absolute path: processes started elsewhere would not share it", c.Dir)
	}
	if c.MachineBits > l.WorkerBits {
		fault("machine_bits %d are more than the layout's %d worker bits: choose 0 to %d, or a layout with more", c.MachineBits, l.WorkerBits, l.WorkerBits)
	}
	if c.MachineBits > 0 && !lock {
		fault("machine_bits %d are set, but sources %v have no %s: add it, or leave machine_bits out", c.MachineBits, c.Sources, Lock)
	}
	if c.Network != "" {
		if _, err := netip.ParsePrefix(c.Network); err != nil {
			fault("network %q: %w: give one such as 10.1.0.0/16", c.Network, err)
		}
		if c.MachineBits == 0 {
			fault("network %q is set without machine_bits, so no address is used: set both or none", c.Network)
		}
	}
	if c.MaxBehind < 0 || c.MaxBehind > 24*time.Hour {
		fault("max_behind %v is not 0 to 24h", c.MaxBehind)
	}
	if c.Stateless && lock {
		fault("stateless leaves source %s without its locks: choose other sources, or leave stateless out", Lock)
	}
	if c.Stateless && c.Dir != "" {
		fault("stateless keeps nothing in dir %q: set one of them", c.Dir)
	}
	return errors.Join(errs...)
}
