package dbseq

import (
	"database/sql"
	"errors"
	"fmt"
	"regexp"

	"github.com/snowlease/snowlease/lease"
)

// An Option configures New and NewSegments.
type Option func(*options) error

type options struct {
	given      *sql.DB
	prefix     string
	quarantine lease.Quarantine
	migrate    bool
}

// WithPool makes a center or store use pool instead of its own. Close leaves pool open. The
// pool must connect to the primary, commit each statement on its own (autocommit), and
// always have a spare connection for renewals.
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

// WithTablePrefix sets what the names of tables start with, such as prefix+"slot". A
// prefix has 1 to 40 characters of a-z 0-9 _ and does not start with a digit. Default:
// "snowlease_".
func WithTablePrefix(prefix string) Option {
	return func(o *options) error {
		if !validPrefix.MatchString(prefix) {
			return fmt.Errorf("dbseq: WithTablePrefix: %q is not 1 to 40 characters of a-z 0-9 _ that start with no digit", prefix)
		}
		o.prefix = prefix
		return nil
	}
}

// WithQuarantine sets what starts a quarantine, besides missing records. It changes
// nothing for NewSegments. All members of a namespace should use the same value.
//
// The default, lease.QuarantineOnChange, starts one if another server than the one on
// record answers, or the same one after a restart, because these can lose acknowledged
// writes. Processes that start during the quarantine then wait for the skew and a
// quarter of a second. It does not notice a server that kept running and missed writes
// that another one acknowledged.
//
// With lease.QuarantineNever, a restart costs nothing. It is safe only if the database
// loses no acknowledged write: one durable server, or one whose replicas confirm each
// commit. A Galera cluster can lose some: keep the default, and use one node.
func WithQuarantine(q lease.Quarantine) Option {
	return func(o *options) error {
		if err := q.Validate(); err != nil {
			return fmt.Errorf("dbseq: WithQuarantine: %w", err)
		}
		o.quarantine = q
		return nil
	}
}

// WithoutMigrate keeps a center or store from creating its tables. An administrator must
// run the files of dbseq/schema for the database instead. A missing table is then a
// lease.ErrSetup.
func WithoutMigrate() Option {
	return func(o *options) error {
		o.migrate = false
		return nil
	}
}
