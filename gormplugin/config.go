package gormplugin

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm/schema"
)

// Scope says which models have their keys filled.
type Scope string

const (
	// ScopeAll fills every model whose key can hold an id, but for those that opt
	// out and those whose key has another source (see the package documentation).
	ScopeAll Scope = "all"
	// ScopeTagged fills only models whose key is tagged `idworker:"true"`. Begin with
	// it where tables with other keys exist.
	ScopeTagged Scope = "tagged"
)

// DefaultWait is the default of Config.Wait.
const DefaultWait = 2 * time.Second

// Config of a Plugin. The zero Config is valid and is the default. It is an optional
// value in fx.
type Config struct {
	// Scope says which models are filled. Default: ScopeAll.
	Scope Scope `yaml:"scope" json:"scope" koanf:"scope" mapstructure:"scope" env:"SCOPE"`
	// Exclude names tables that are left alone, as the INSERT names them: with the
	// database or schema only where the model's TableName has it. Default: none.
	Exclude []string `yaml:"exclude" json:"exclude" koanf:"exclude" mapstructure:"exclude" env:"EXCLUDE"`
	// Wait bounds how long a statement waits for ids: for a lease that is renewed or
	// borrowed again, or for a burst to pass. The statement's context bounds it as
	// well. Default: 2s.
	Wait time.Duration `yaml:"wait" json:"wait" koanf:"wait" mapstructure:"wait" env:"WAIT"`
	// Convert gives the value for keys that are not the plain id: another base in a
	// string, bytes, types of the app. A nil value without an error means that the
	// key is none of Convert's. It is asked once per model with the id 1, whose value
	// is thrown away, and then for each row where that answer was a value. It must be
	// safe for concurrent use. Text above base 36 needs a column that tells upper from
	// lower case, which MySQL's do not by default. Default: none.
	Convert func(key *schema.Field, id int64) (any, error) `yaml:"-" json:"-" koanf:"-" mapstructure:"-" env:"-"`
	// Segments gives the generator of a name, for keys with the tag
	// `idworker:"segment=NAME"`, which hold its numbers instead of ids. It is asked once
	// per model. Default: that of idworker.Module, where fx has it; else none.
	Segments func(name string) (Generator, error) `yaml:"-" json:"-" koanf:"-" mapstructure:"-" env:"-"`
}

func (c Config) withDefaults() Config {
	c.Scope = cmp.Or(c.Scope, ScopeAll)
	c.Wait = cmp.Or(c.Wait, DefaultWait)
	return c
}

// Validate reports every fault of c in one error, or nil.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	if c.Scope != ScopeAll && c.Scope != ScopeTagged {
		errs = append(errs, fmt.Errorf("gormplugin: scope %q is unknown: choose %q or %q", c.Scope, ScopeAll, ScopeTagged))
	}
	for i, table := range c.Exclude {
		if table == "" || strings.TrimSpace(table) != table {
			errs = append(errs, fmt.Errorf("gormplugin: exclude[%d] %q is no table name: give names without blanks around them", i, table))
		}
	}
	if c.Wait < 0 {
		errs = append(errs, fmt.Errorf("gormplugin: wait %v is below 0: give a duration such as 2s, or none for the default of %v", c.Wait, DefaultWait))
	}
	return errors.Join(errs...)
}
