package hostseq

import (
	"cmp"
	"path/filepath"
	"time"

	"github.com/snowlease/snowlease/internal/dsn"
	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/snowflake"
)

// Source is where a worker id comes from.
type Source string

// The sources.
const (
	Explicit Source = "explicit" // Config.Worker
	Lock     Source = "lock"     // a free slot of this host
	Hash     Source = "hash"     // machine and process id; may collide
)

// DefaultMaxBehind is the default of Config.MaxBehind.
const DefaultMaxBehind = 5 * time.Minute

// Config says how worker ids are found. Zero fields take the default.
type Config struct {
	// Source is explicit, lock or hash. Default: explicit if Worker is set, else lock.
	Source Source `yaml:"source" json:"source" env:"SOURCE"`
	// Worker is the worker id of source explicit, 0 to Layout.Workers()-1. Other sources
	// refuse it.
	Worker *int64 `yaml:"worker" json:"worker" env:"WORKER"`
	// Dir is the absolute path of the directory for locks and records, which the
	// processes of the host share. It is created with mode 0700 if necessary, and
	// refused if everyone can write to it, or another user could put another directory in
	// its place, which is not checked on Windows. Its group, if it may write, is trusted as
	// the service is. Choose one that a restart keeps, so none below /tmp. In a container
	// that shows itself as one (Docker, Podman, Kubernetes), source lock refuses the default,
	// which other containers do not see.
	// Default: /var/lib/snowlease for root, else $XDG_STATE_HOME/snowlease,
	// ~/.local/state/snowlease, on macOS ~/Library/Application Support/snowlease or, on
	// Windows, %LocalAppData%\snowlease.
	Dir string `yaml:"dir" json:"dir" env:"DIR"`
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

// withDefaults returns c with its zero fields filled in, except Dir, which depends on the
// host.
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
	fault.OneOf(&f, "source", c.Source, Explicit, Lock, Hash)
	f.Check("source", c.Source, c.Source == Explicit && c.Worker == nil, "needs a worker: set it, or choose another source")
	if w := c.Worker; w != nil {
		f.Check("worker", *w, *w < 0 || *w >= l.Workers(), "is not 0 to %d, which the layout's %d worker bits hold", l.Workers()-1, l.WorkerBits)
		f.Check("worker", *w, c.Source != Explicit, "is set, but source %s takes none: leave one of them out", c.Source)
	}
	f.Check("dir", c.Dir, c.Dir != "" && !filepath.IsAbs(c.Dir), "is not an absolute path: give one: processes started elsewhere would not share it")
	control := dsn.Plain(c.Dir)
	f.Check("dir", c.Dir, control != nil, "%v", control)
	f.Check("max_behind", c.MaxBehind, c.MaxBehind < 0 || c.MaxBehind > 24*time.Hour, "is not 0 to 24h")
	f.Millis("max_behind", c.MaxBehind)
	f.Check("stateless", nil, c.Stateless && c.Source == Lock, "leaves source %s without its locks: choose another source, or leave stateless out", Lock)
	f.Check("stateless", nil, c.Stateless && c.Dir != "", "keeps nothing in dir %q: set one of them", c.Dir)
	return f.Err()
}
