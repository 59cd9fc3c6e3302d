package sqldb

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowlease/snowlease/providers/secret"
)

// Config says which database to open and how. A zero field takes its default.
type Config struct {
	// Driver is the name of a linked driver: mysql (MariaDB as well), postgres or
	// sqlite.
	Driver string `yaml:"driver" json:"driver" koanf:"driver" mapstructure:"driver" env:"DRIVER"`
	// DSN is the driver's data source name: see packages mysql, postgres and sqlite
	// beside this one. It may hold a password: no error and no log holds it.
	DSN secret.String `yaml:"dsn" json:"dsn" koanf:"dsn" mapstructure:"dsn" env:"DSN"`
	// MaxOpen bounds the connections. Default: 20.
	MaxOpen int `yaml:"max_open" json:"max_open" koanf:"max_open" mapstructure:"max_open" env:"MAX_OPEN"`
	// MaxIdle bounds the connections that are kept while idle, at most MaxOpen.
	// Default: 10, or MaxOpen where that is less.
	MaxIdle int `yaml:"max_idle" json:"max_idle" koanf:"max_idle" mapstructure:"max_idle" env:"MAX_IDLE"`
	// MaxLifetime is when a connection is replaced however busy, so that a name that
	// leads to another server now is followed. Default: 30m.
	MaxLifetime time.Duration `yaml:"max_lifetime" json:"max_lifetime" koanf:"max_lifetime" mapstructure:"max_lifetime" env:"MAX_LIFETIME"`
	// MaxIdleTime is when an idle connection is closed. Default: 5m.
	MaxIdleTime time.Duration `yaml:"max_idle_time" json:"max_idle_time" koanf:"max_idle_time" mapstructure:"max_idle_time" env:"MAX_IDLE_TIME"`
	// ConnectTimeout bounds the making of one connection unless the DSN does, and the
	// ping at start. Default: 5s.
	ConnectTimeout time.Duration `yaml:"connect_timeout" json:"connect_timeout" koanf:"connect_timeout" mapstructure:"connect_timeout" env:"CONNECT_TIMEOUT"`
	// SlowQuery is how long a statement takes that is logged as slow. Default: 200ms.
	SlowQuery time.Duration `yaml:"slow_query" json:"slow_query" koanf:"slow_query" mapstructure:"slow_query" env:"SLOW_QUERY"`
}

// WithDefaults returns c with its zero fields filled in; Driver and DSN have no
// default.
func (c Config) WithDefaults() Config {
	c.MaxOpen = cmp.Or(c.MaxOpen, 20)
	c.MaxIdle = cmp.Or(c.MaxIdle, max(0, min(10, c.MaxOpen)))
	c.MaxLifetime = cmp.Or(c.MaxLifetime, 30*time.Minute)
	c.MaxIdleTime = cmp.Or(c.MaxIdleTime, 5*time.Minute)
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 5*time.Second)
	c.SlowQuery = cmp.Or(c.SlowQuery, 200*time.Millisecond)
	return c
}

// Validate reports every fault of c, defaults filled in, in one error, or nil. It
// does not look into the DSN: its driver does when it opens it.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("providers: db."+format, args...))
	}
	switch {
	case c.Driver == "":
		fault("driver is empty: set mysql, postgres or sqlite")
	case strings.ContainsAny(c.Driver, ":/@= "):
		// Not shown: it may hold a password.
		fault("driver is a DSN: set mysql, postgres or sqlite, and dsn")
	}
	if strings.TrimSpace(string(c.DSN)) == "" {
		fault("dsn is empty: set the data source name of the database")
	}
	if c.MaxOpen < 1 {
		fault("max_open %d is below 1: set the greatest number of connections", c.MaxOpen)
	}
	if c.MaxIdle < 0 || c.MaxIdle > max(1, c.MaxOpen) {
		fault("max_idle %d is not 0 to max_open (%d): set fewer", c.MaxIdle, c.MaxOpen)
	}
	for _, d := range []struct {
		name string
		d    time.Duration
	}{
		{"max_lifetime", c.MaxLifetime},
		{"max_idle_time", c.MaxIdleTime},
		{"connect_timeout", c.ConnectTimeout},
		{"slow_query", c.SlowQuery},
	} {
		if d.d < time.Millisecond {
			fault("%s %v is below 1ms: set a duration with a unit, such as 5s", d.name, d.d)
		}
	}
	return errors.Join(errs...)
}
