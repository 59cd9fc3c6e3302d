package hostseq

import (
	"cmp"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/snowflake"
)

// Source is where a worker id comes from.
type Source string

// The sources.
const (
	Explicit Source = "explicit" // Config.Worker
	Ordinal  Source = "ordinal"  // the N of a host name that ends in -N
	Lock     Source = "lock"     // a slot of this host and bits of its address
	Hash     Source = "hash"     // machine and process id; may collide
)

// DefaultMaxBehind is the default of Config.MaxBehind.
const DefaultMaxBehind = 5 * time.Minute

// Config says how worker ids are found. Zero fields take the default.
type Config struct {
	// Source is explicit, ordinal, lock or hash. Default: explicit if Worker is set,
	// else lock.
	Source Source `yaml:"source" json:"source" env:"SOURCE"`
	// Worker is the worker id of source explicit, 0 to Layout.Workers()-1. Other sources
	// refuse it.
	Worker *int64 `yaml:"worker" json:"worker" env:"WORKER"`
	// Dir is the absolute path of the directory for locks and records, which the
	// processes of the host share. It is created with mode 0700 if necessary, and
	// refused if everyone can write to it, or another user could put another directory in
	// its place, which is not checked on Windows. Below /tmp it is a warning. In a
	// container, source lock refuses the default, which other containers do not see,
	// unless MachineBits is set. Default: /var/lib/snowlease for root, else
	// $XDG_STATE_HOME/snowlease, ~/.local/state/snowlease, on macOS
	// ~/Library/Application Support/snowlease or, on Windows, %LocalAppData%\snowlease.
	Dir string `yaml:"dir" json:"dir" env:"DIR"`
	// MachineBits is how many of the upper bits of a worker id source lock takes from
	// the end of the private address of the host. The other bits number the processes
	// of the host. All hosts of a namespace must use the same value. Their addresses must
	// differ in these bits: on Docker's default bridge, the first container of each host has
	// 172.17.0.2. At most the layout's worker bits. Only for source lock. Default: 0, for a
	// single host.
	MachineBits uint8 `yaml:"machine_bits" json:"machine_bits" env:"MACHINE_BITS"`
	// Network is the network of the address for MachineBits, such as "10.1.0.0/16".
	// Default: the network of the private address from which the host reaches others,
	// or of its only private address.
	Network string `yaml:"network" json:"network" env:"NETWORK"`
	// MaxBehind is how far the clock of the host may have been set back, at most 24h.
	// Ids continue above the last use, ahead of the clock. The lease's MaxTTL is allowed
	// on top, because a crash may leave the record of the last use that far ahead.
	// Default: 5m.
	MaxBehind time.Duration `yaml:"max_behind" json:"max_behind" env:"MAX_BEHIND"`
	// Stateless works without a directory, locks and records, on a host that has no
	// place for them. It relies on the clock of the host, which must not be set back
	// across a restart, and does not detect other processes. A start waits for WithMaxAhead and two
	// ticks, because a process before may have run that far ahead of the clock. Source lock
	// refuses it, and it excludes Dir. Default: false.
	Stateless bool `yaml:"stateless" json:"stateless" env:"STATELESS"`
}

// withDefaults returns c with its zero fields filled in, except Dir and Network, which
// are determined when needed.
func (c Config) withDefaults() Config {
	if c.Source == "" {
		c.Source = Lock
		if c.Worker != nil {
			c.Source = Explicit
		}
	}
	c.MaxBehind = cmp.Or(c.MaxBehind, DefaultMaxBehind)
	return c
}

// Validate fills in defaults and returns all faults of c for the layout joined into one
// error, or nil. It does not look at the host.
func (c Config) Validate(l snowflake.Layout) error {
	c = c.withDefaults()
	f := fault.List{In: "local: config"}
	if err := l.Validate(); err != nil {
		f.Take(err, func(string) string { return "layout" })
		l = snowflake.Layout{} // to report the other faults too
	}
	l = l.WithDefaults()
	fault.OneOf(&f, "source", c.Source, Explicit, Ordinal, Lock, Hash)
	if c.Source == Explicit && c.Worker == nil {
		f.Add("source", c.Source, "needs a worker").Do("set it, or choose another source")
	}
	if c.Worker != nil {
		if *c.Worker < 0 || *c.Worker >= l.Workers() {
			f.Add("worker", *c.Worker, "is not 0 to %d, which the layout's %d worker bits hold", l.Workers()-1, l.WorkerBits)
		}
		if c.Source != Explicit {
			f.Add("worker", *c.Worker, "is set, but source %s takes none", c.Source).Do("leave one of them out")
		}
	}
	if c.Dir != "" && !filepath.IsAbs(c.Dir) {
		f.Add("dir", c.Dir, "is not an absolute path").Do("give one: processes started elsewhere would not share it")
	}
	if c.MachineBits > l.WorkerBits {
		f.Add("machine_bits", c.MachineBits, "are more than the layout's %d worker bits", l.WorkerBits).Do("choose 0 to %d, or a layout with more", l.WorkerBits)
	}
	if c.MachineBits > 0 && c.Source != Lock {
		f.Add("machine_bits", c.MachineBits, "are set, but source %s takes none", c.Source).Do("leave them out, or choose source %s", Lock)
	}
	if c.Network != "" {
		if _, err := netip.ParsePrefix(c.Network); err != nil {
			f.Add("network", c.Network, "is no network").By(err).Do("give one such as 10.1.0.0/16")
		}
		if c.MachineBits == 0 {
			f.Add("network", c.Network, "is set without machine_bits, so no address is used").Do("set both or none")
		}
	}
	if c.MaxBehind < 0 || c.MaxBehind > 24*time.Hour {
		f.Add("max_behind", c.MaxBehind, "is not 0 to 24h")
	} else if c.MaxBehind%time.Millisecond != 0 {
		f.Add("max_behind", c.MaxBehind, "is finer than a millisecond").Do("give whole milliseconds; a number without a unit is nanoseconds")
	}
	if c.Stateless && c.Source == Lock {
		f.Add("stateless", nil, "leaves source %s without its locks", Lock).Do("choose another source, or leave stateless out")
	}
	if c.Stateless && c.Dir != "" {
		f.Add("stateless", nil, "keeps nothing in dir %q", c.Dir).Do("set one of them")
	}
	return f.Err()
}
