package providers

import (
	"errors"

	"github.com/snowlease/snowlease/providers/redis"
	"github.com/snowlease/snowlease/providers/sqldb"
)

// DBConfig says which database to open: driver, DSN and the sizes of the pool.
type DBConfig = sqldb.Config

// RedisConfig says which Redis to use: addresses, login and timeouts.
type RedisConfig = redis.Config

// Config is what Module, DB and Redis need in the fx graph, as a value: a pointer to
// it is another type to fx. A half that is left zero is not configured.
type Config struct {
	DB    DBConfig    `yaml:"db" json:"db" koanf:"db" mapstructure:"db" envPrefix:"DB_"`
	Redis RedisConfig `yaml:"redis" json:"redis" koanf:"redis" mapstructure:"redis" envPrefix:"REDIS_"`
}

// Validate reports every fault of what is configured in one error, or nil.
func (c Config) Validate() error {
	var errs []error
	if c.hasDB() {
		errs = append(errs, c.DB.Validate())
	}
	if c.hasRedis() {
		errs = append(errs, c.Redis.Validate())
	}
	return errors.Join(errs...)
}

func (c Config) hasDB() bool    { return c.DB != DBConfig{} }
func (c Config) hasRedis() bool { return !c.Redis.IsZero() }
