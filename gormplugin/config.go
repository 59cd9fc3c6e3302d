package gormplugin

import (
	"cmp"
	"strings"
	"time"

	"gorm.io/gorm/schema"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/snowflake"
)

// defaultWait is the default of Config.Wait.
const defaultWait = 2 * time.Second

// Config configures New. The zero Config has all defaults. fx applications may
// supply one.
type Config struct {
	// TaggedOnly fills only keys tagged `idworker:"true"` or `idworker:"segment=NAME"`, such as
	// that of a Model. Begin with it if tables with other keys exist. Default: false, which
	// fills every key that can hold an id, except those that the package documentation lists.
	TaggedOnly bool `yaml:"tagged_only" json:"tagged_only" env:"TAGGED_ONLY"`
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
	c.Wait = cmp.Or(c.Wait, defaultWait)
	return c
}

// Validate reports every fault of c in one error, or nil.
func (c Config) Validate() error {
	c = c.withDefaults()
	f := fault.Texts{In: "gormplugin: "}
	for i, table := range c.Exclude {
		f.Check(table == "" || strings.TrimSpace(table) != table, "exclude[%d] %q is not a table name; remove the blanks around it, or the entry", i, table)
	}
	f.Check(c.Wait < 0, "wait %v is negative; give a duration such as 2s, or none for the default of %v", c.Wait, defaultWait)
	f.Check(c.Wait > 0 && c.Wait%time.Millisecond != 0, "wait %v is finer than a millisecond; a number without a unit is nanoseconds", c.Wait)
	return f.Err()
}
