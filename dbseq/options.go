package dbseq

import (
	"fmt"
	"regexp"

	"github.com/snowlease/snowlease/internal/option"
	"github.com/snowlease/snowlease/internal/sqlconn"
)

// A Dialect is a kind of SQL database.
type Dialect string

// The dialects.
const (
	MySQL    Dialect = "mysql" // also MariaDB
	Postgres Dialect = "postgres"
	SQLite   Dialect = "sqlite"
)

// An Option configures Open and New. A nil Option is ignored.
type Option interface{ set }

type set = sqlconn.Option

var validPrefix = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

// WithTablePrefix sets what the names of tables start with, such as prefix+"slot". A
// prefix has 1 to 40 characters of a-z 0-9 _ and does not start with a digit. Default:
// "snowlease_".
func WithTablePrefix(prefix string) Option {
	return option.Func[sqlconn.Options](func(o *sqlconn.Options) error {
		if !validPrefix.MatchString(prefix) {
			return fmt.Errorf("dbseq: WithTablePrefix: %q is not 1 to 40 characters of a-z 0-9 _ that start with no digit", prefix)
		}
		o.Prefix = prefix
		return nil
	})
}

// WithDurable declares that the database loses no acknowledged write: one durable server, or
// one whose replicas confirm each commit. A Galera cluster can lose some: keep the default, and
// use one node. It changes nothing for Numbers. All members of a namespace should use the same
// value.
//
// By default, a quarantine starts if a server other than the recorded one answers, or the
// same one after a restart, because these can lose acknowledged writes. Processes that start
// during the quarantine then wait for the skew and a quarter of a second. It does not notice a
// server that stayed a primary and missed writes that another one acknowledged. With durable true,
// only missing records start one.
func WithDurable(durable bool) Option {
	return option.Func[sqlconn.Options](func(o *sqlconn.Options) error {
		o.Durable = durable
		return nil
	})
}

// WithoutMigrate keeps a center or store from creating its tables. An administrator must
// run the files of dbseq/schema for the database instead. A missing table is then a
// lease.ErrSetup.
func WithoutMigrate() Option {
	return option.Func[sqlconn.Options](func(o *sqlconn.Options) error {
		o.Migrate = false
		return nil
	})
}
