package gormplugin

import (
	"cmp"
	"strings"
	"time"

	"gorm.io/gorm/schema"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/snowflake"
)

// Scope selects the models whose keys are filled.
type Scope string

// The scopes.
const (
	// ScopeAll fills every model whose key can hold an id. Models that opt out, and
	// keys with another source, are left alone: see the package documentation.
	ScopeAll Scope = "all"
	// ScopeTagged fills only keys tagged `idworker:"true"` or `idworker:"segment=NAME"`, as
	// that of a Model is.
	// Begin with it if tables with other keys exist.
	ScopeTagged Scope = "tagged"
)

// defaultWait is the default of Config.Wait.
const defaultWait = 2 * time.Second

// Config configures a Plugin. The zero Config has all defaults. fx applications may
// supply one.
type Config struct {
	// Scope selects the models whose keys are filled. Default: ScopeAll.
	Scope Scope `yaml:"scope" json:"scope" env:"SCOPE"`
	// Exclude names tables to leave alone, as the INSERT names them: with the database
	// or schema only if the model's TableName includes it. Default: none.
	Exclude []string `yaml:"exclude" json:"exclude" env:"EXCLUDE"`
	// Wait is the longest that a statement waits for ids, for example while the lease has
	// expired or in a burst, and for numbers of segments. The statement's context may end
	// the wait earlier. Default: 2s.
	Wait time.Duration `yaml:"wait" json:"wait" env:"WAIT"`
	// Convert returns the value of a key that does not hold the plain id: text in
	// another base, bytes, or a type of the application. A nil value without an error
	// leaves the key to the plugin. The plugin tries Convert once per model, with the id
	// 1, and discards the value. If there was one, it calls Convert for each row; a nil
	// value is then an error. Convert must be safe for concurrent use. Text in a base
	// above 36 needs a case-sensitive column, which is not MySQL's default. Default:
	// none.
	Convert func(key *schema.Field, id int64) (any, error) `yaml:"-" json:"-" env:"-"`
	// Segments returns the source of a segment's numbers, for keys tagged
	// `idworker:"segment=NAME"`. The plugin calls it once per model. Default: none;
	// idworker.GORM sets it.
	Segments func(name string) (snowflake.Source, error) `yaml:"-" json:"-" env:"-"`
}

func (c Config) withDefaults() Config {
	c.Scope = cmp.Or(c.Scope, ScopeAll)
	c.Wait = cmp.Or(c.Wait, defaultWait)
	return c
}

// Validate reports every fault of c in one error, or nil.
func (c Config) Validate() error {
	c = c.withDefaults()
	f := fault.Texts{In: "gormplugin: "}
	f.Check(c.Scope != ScopeAll && c.Scope != ScopeTagged, "scope %q is unknown; choose %q or %q", c.Scope, ScopeAll, ScopeTagged)
	for i, table := range c.Exclude {
		f.Check(table == "" || strings.TrimSpace(table) != table, "exclude[%d] %q is not a table name; remove the blanks around it, or the entry", i, table)
	}
	f.Check(c.Wait < 0, "wait %v is negative; give a duration such as 2s, or none for the default of %v", c.Wait, defaultWait)
	f.Check(c.Wait > 0 && c.Wait%time.Millisecond != 0, "wait %v is finer than a millisecond; a number without a unit is nanoseconds", c.Wait)
	return f.Err()
}
