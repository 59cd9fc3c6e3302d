// Package sqldb defines the configuration of a database, for the modules of packages mysql,
// postgres and sqlite. Package providers links all drivers, and its configuration chooses one.
//
//	fx.New(
//		fx.Supply(sqldb.Config{DSN: dsn}),
//		mysql.Module, // or postgres.Module, sqlite.Module
//		idworker.Module, ...
//	)
//
// Do not use it in an application that opens its own *gorm.DB.
package sqldb

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/dsn"
	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/providers/secret"
)

// Config configures a database. A zero field means its default.
type Config struct {
	// Driver is the name of a linked driver: mysql (also for MariaDB), postgres or sqlite. Default:
	// the driver that the form of the DSN suggests, such as mysql for
	// user:password@tcp(host:3306)/db.
	Driver string `yaml:"driver" json:"driver" env:"DRIVER"`
	// DSN is the driver's data source name: see packages mysql, postgres and sqlite. Errors and logs
	// never include its password. Trailing white space is removed. Required.
	DSN secret.String `yaml:"dsn" json:"dsn" env:"DSN"`
	// MaxOpen is the maximum number of connections. Default: 20.
	MaxOpen int `yaml:"max_open" json:"max_open" env:"MAX_OPEN"`
	// MaxIdle is the maximum number of idle connections to keep, at most MaxOpen.
	// Default: 10, or MaxOpen if that is less.
	MaxIdle int `yaml:"max_idle" json:"max_idle" env:"MAX_IDLE"`
	// MaxLifetime is the age at which the pool closes a connection instead of reusing it, so that
	// even a busy pool follows changes of the host's address. It interrupts no statement. Default:
	// 30m.
	MaxLifetime time.Duration `yaml:"max_lifetime" json:"max_lifetime" env:"MAX_LIFETIME"`
	// MaxIdleTime is how long a connection may be idle before it is closed. Default: 5m.
	MaxIdleTime time.Duration `yaml:"max_idle_time" json:"max_idle_time" env:"MAX_IDLE_TIME"`
	// ConnectTimeout bounds each attempt to connect, unless the DSN sets a timeout, and
	// the ping at the start. Durations are at least 1ms. Default: 5s.
	ConnectTimeout time.Duration `yaml:"connect_timeout" json:"connect_timeout" env:"CONNECT_TIMEOUT"`
	// SlowQuery is the duration above which a statement is logged as slow. Default: 200ms.
	SlowQuery time.Duration `yaml:"slow_query" json:"slow_query" env:"SLOW_QUERY"`
}

// forms are the DSN forms of each driver. The first match counts, since a password may look like
// the form of another driver.
var forms = []struct {
	driver string
	form   *regexp.Regexp
}{
	{"postgres", regexp.MustCompile(`^postgres(ql)?://|^\s*(\w+\s*=.*\s)?(host|dbname|password)\s*=`)},
	{"mysql", regexp.MustCompile(`@(tcp\(|unix\(|/)`)},
	{"sqlite", regexp.MustCompile(`^((file:)?[^=:@]+|:memory:)(\?|$)`)},
}

// WithDefaults returns c with defaults for its zero fields, except DSN, which has none.
func (c Config) WithDefaults() Config {
	c.DSN = dsn.Trim(c.DSN)
	for _, f := range forms {
		if c.Driver == "" && f.form.MatchString(string(c.DSN)) {
			c.Driver = f.driver
		}
	}
	c.MaxOpen = cmp.Or(c.MaxOpen, 20)
	c.MaxIdle = cmp.Or(c.MaxIdle, max(0, min(10, c.MaxOpen)))
	c.MaxLifetime = cmp.Or(c.MaxLifetime, 30*time.Minute)
	c.MaxIdleTime = cmp.Or(c.MaxIdleTime, 5*time.Minute)
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 5*time.Second)
	c.SlowQuery = cmp.Or(c.SlowQuery, 200*time.Millisecond)
	return c
}

// Validate returns an error that joins all problems of c, or nil. It applies defaults first. It
// does not parse the DSN; the driver does that later.
func (c Config) Validate() error {
	c = c.WithDefaults()
	f := fault.Texts{In: "providers: db."}
	f.Check(c.Driver == "", "driver is empty and the dsn has the form of none: write it like user:password@tcp(host:3306)/name, postgres://user:password@host:5432/name or data/app.db, or set mysql, postgres or sqlite")
	// Do not show the value: it may include a password.
	f.Check(strings.ContainsAny(c.Driver, ":/@= "), "driver is a DSN: set mysql, postgres or sqlite, and dsn")
	f.Check(c.DSN == "", "dsn is empty: set the data source name of the database")
	err := dsn.Plain(string(c.DSN))
	f.Check(err != nil, "dsn %v", err)
	f.Check(c.MaxOpen < 1, "max_open %d is below 1: set the maximum number of connections", c.MaxOpen)
	f.Check(c.MaxIdle < 0 || c.MaxIdle > max(1, c.MaxOpen), "max_idle %d is not 0 to max_open (%d): set fewer", c.MaxIdle, c.MaxOpen)
	const below = "%s %v is below 1ms: set a duration with a unit, such as 5s"
	f.Check(c.MaxLifetime < time.Millisecond, below, "max_lifetime", c.MaxLifetime)
	f.Check(c.MaxIdleTime < time.Millisecond, below, "max_idle_time", c.MaxIdleTime)
	f.Check(c.ConnectTimeout < time.Millisecond, below, "connect_timeout", c.ConnectTimeout)
	f.Check(c.SlowQuery < time.Millisecond, below, "slow_query", c.SlowQuery)
	return f.Err()
}
