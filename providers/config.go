package providers

import (
	"errors"

	"github.com/snowlease/snowlease/providers/redis"
	"github.com/snowlease/snowlease/providers/sqldb"
)

// Config is the configuration of Module. Supply it to fx as a value, not as a pointer. A zero DB
// or Redis configures no client.
type Config struct {
	// DB configures the database. Default: none.
	DB sqldb.Config `yaml:"db" json:"db" envPrefix:"DB_"`
	// Redis configures the Redis client. Default: none.
	Redis redis.Config `yaml:"redis" json:"redis" envPrefix:"REDIS_"`
}

// Validate returns an error that joins all problems of the configured parts, or nil. It returns
// nil for a zero Config.
func (c Config) Validate() error {
	var errs []error
	if c.DB != (sqldb.Config{}) {
		errs = append(errs, c.DB.Validate())
	}
	if !c.Redis.IsZero() {
		errs = append(errs, c.Redis.Validate())
	}
	return errors.Join(errs...)
}
