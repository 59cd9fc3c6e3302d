package hostseq

import (
	"cmp"
	"path/filepath"
	"time"

	"github.com/snowlease/snowlease/internal/dsn"
	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/snowflake"
)

// Source selects how worker ids are found.
type Source string

// The sources.
const (
	Explicit Source = "explicit" // Config.Worker
	Lock     Source = "lock"     // a free slot of this host
	Hash     Source = "hash"     // host name, /etc/machine-id and process id; may collide
)

// DefaultMaxBehind is the default value of Config.MaxBehind.
const DefaultMaxBehind = 5 * time.Minute

// Config configures how worker ids are found. A zero field means its default.
type Config struct {
	// Source is explicit, lock or hash. Default: explicit if Worker is set, and lock otherwise.
	Source Source `yaml:"source" json:"source" env:"SOURCE"`
	// Worker is the worker id of source explicit, 0 to Layout.Workers()-1. Other sources
	// refuse it.
	Worker *int64 `yaml:"worker" json:"worker" env:"WORKER"`
	// Dir is the absolute path of the directory for locks and records, which the processes of the
	// host share. It is created with mode 0700 if necessary. It is refused if everyone can write to
	// it, or if another user could replace it (which is not checked on Windows). If its group may
	// write, the group is trusted like the service. Choose a directory that survives a restart, so
	// none below /tmp. In a recognizable container (Docker, Podman, Kubernetes), source lock refuses
	// the default, which other containers do not see. Default: /var/lib/snowlease for root. For
	// other users $XDG_STATE_HOME/snowlease, or ~/.local/state/snowlease, or on macOS
	// ~/Library/Application Support/snowlease. On Windows, %LocalAppData%\snowlease.
	Dir string `yaml:"dir" json:"dir" env:"DIR"`
	// MaxBehind is how far the host's clock may have been set back, at most 24h. Ids continue above
	// the last use, ahead of the clock. The lease's MaxTTL is allowed in addition, because a crash
	// may leave the record of the last use that far ahead. Default: 5m.
	MaxBehind time.Duration `yaml:"max_behind" json:"max_behind" env:"MAX_BEHIND"`
	// Stateless works without a directory, locks and records, on a host that has no place for them.
	// It relies on the host's clock, which must not be set back across a restart, and does not
	// detect other processes. A start waits for WithMaxAhead and two ticks, because an earlier
	// process may have run that far ahead of the clock. Source lock refuses Stateless, and Dir
	// cannot be set with it. Default: false.
	Stateless bool `yaml:"stateless" json:"stateless" env:"STATELESS"`
}

// withDefaults returns c with defaults for its zero fields, except Dir, whose default depends on
// the host.
func (c Config) withDefaults() Config {
	if c.Worker != nil {
		c.Source = cmp.Or(c.Source, Explicit)
	}
	c.Source = cmp.Or(c.Source, Lock)
	c.MaxBehind = cmp.Or(c.MaxBehind, DefaultMaxBehind)
	return c
}

// Validate applies the defaults and returns an error that joins all problems of c for the layout,
// or nil. It does not inspect the host.
func (c Config) Validate(l snowflake.Layout) error {
	c = c.withDefaults()
	f := fault.List{In: "local: config"}
	if err := l.Validate(); err != nil {
		f.Take(err, func(string) string { return "layout" })
		l = snowflake.Layout{} // so that the other problems are reported too
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
