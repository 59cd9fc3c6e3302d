package redisseq

import (
	"fmt"
	"strings"
)

// An Option of New.
type Option func(*Center) error

// Quarantine says when a namespace lends nothing new for MaxTTL and skew. Missing
// records always start a quarantine.
type Quarantine string

const (
	// OnChange compares the run_id of the server with the one on record too.
	OnChange Quarantine = "on-change"
	// Never does not compare. It is for one server, or several, that lose no
	// acknowledged write: appendfsync always and no failover to a stale replica.
	Never Quarantine = "never"
)

// WithQuarantine sets when a quarantine starts. The default is OnChange.
func WithQuarantine(q Quarantine) Option {
	return func(c *Center) error {
		if q != OnChange && q != Never {
			return fmt.Errorf("redisseq: quarantine %q is neither %q nor %q", q, OnChange, Never)
		}
		c.quarantine = q
		return nil
	}
}

// WithPrefix sets what the keys start with. The default is "snowlease", which makes
// keys like snowlease:{ns}:lease. Members of a namespace must agree on it.
//
// 1 to 128 printable ASCII characters without spaces and braces, which would
// move the keys to several hash slots of a cluster.
func WithPrefix(prefix string) Option {
	return func(c *Center) error {
		odd := func(r rune) bool { return r <= ' ' || r > '~' || r == '{' || r == '}' }
		if prefix == "" || len(prefix) > 128 || strings.ContainsFunc(prefix, odd) {
			return fmt.Errorf("redisseq: prefix %q is not 1 to 128 printable ASCII characters without spaces and braces", prefix)
		}
		c.prefix = prefix
		return nil
	}
}
