package providers

import (
	"errors"

	"github.com/snowlease/snowlease/providers/redis"
	"github.com/snowlease/snowlease/providers/sqldb"
)

// DBConfig configures a database: driver, DSN, pool and timeouts.
type DBConfig = sqldb.Config

// RedisConfig configures a Redis client: addresses, login and timeouts.
type RedisConfig = redis.Config

// Config is the configuration of Module. Supply it to fx as a value, not as
// a pointer. A zero DB or Redis is not configured.
type Config struct {
	// DB configures the database. Default: none.
	DB DBConfig `yaml:"db" json:"db" envPrefix:"DB_"`
	// Redis configures the Redis client. Default: none.
	Redis RedisConfig `yaml:"redis" json:"redis" envPrefix:"REDIS_"`
}

// Validate returns one error with every fault of the configured parts, or nil. It is nil
// for a zero Config.
func (c Config) Validate() error {
	var errs []error
	if c.DB != (DBConfig{}) {
		errs = append(errs, c.DB.Validate())
	}
	if !c.Redis.IsZero() {
		errs = append(errs, c.Redis.Validate())
	}
	return errors.Join(errs...)
}
