package dbseq

import (
	"database/sql"
	"errors"
	"fmt"
	"regexp"
)

// An Option changes what New makes.
type Option func(*options) error

type options struct {
	given      *sql.DB
	prefix     string
	quarantine Quarantine
	migrate    bool
}

// Quarantine says what counts as a sign that the database may have forgotten grants.
// What is lent after it lies above all of them. Missing records are a sign in any case.
type Quarantine string

const (
	// OnChange starts a quarantine when another server answers than the one on
	// record, or the same one after a restart: what was acknowledged can be lost
	// only then. Processes that start get their first ids later by the skew and a
	// quarter of a second. A server that ran on and missed what another one
	// acknowledged meanwhile is not noticed.
	OnChange Quarantine = "on-change"
	// Never compares no servers, so that a restart costs nothing. It is safe only where the
	// database loses no write that it has acknowledged: one durable server, or one whose
	// replicas confirm each commit. A Galera cluster can lose some: use OnChange, and one
	// node.
	Never Quarantine = "never"
)

// WithPool makes the center use pool instead of a pool of its own. Close leaves it
// open. The pool must lead to the primary, commit each statement by itself, and have
// a connection to spare for renewals at any time.
func WithPool(pool *sql.DB) Option {
	return func(o *options) error {
		if pool == nil {
			return errors.New("dbseq: WithPool: the pool is nil")
		}
		o.given = pool
		return nil
	}
}

var validPrefix = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

// WithTablePrefix names the tables prefix+"slot", prefix+"ticket" and prefix+"meta".
// 1 to 40 characters of a-z 0-9 _, no digit first. Default: "snowlease_".
func WithTablePrefix(prefix string) Option {
	return func(o *options) error {
		if !validPrefix.MatchString(prefix) {
			return fmt.Errorf("dbseq: WithTablePrefix: %q is not 1 to 40 characters of a-z 0-9 _ that begin with no digit", prefix)
		}
		o.prefix = prefix
		return nil
	}
}

// WithQuarantine chooses what starts a quarantine. Default: OnChange.
func WithQuarantine(q Quarantine) Option {
	return func(o *options) error {
		if q != OnChange && q != Never {
			return fmt.Errorf("dbseq: WithQuarantine: %q is neither %q nor %q", q, OnChange, Never)
		}
		o.quarantine = q
		return nil
	}
}

// WithoutMigrate keeps the center from creating its tables: an administrator has run
// the file of dbseq/schema for this database.
func WithoutMigrate() Option {
	return func(o *options) error {
		o.migrate = false
		return nil
	}
}
