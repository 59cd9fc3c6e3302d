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
	// a Model's key. Begin with it if tables with other keys exist. Default: false, which fills
	// every key that can hold an id, except the keys that the package documentation lists.
	TaggedOnly bool `yaml:"tagged_only" json:"tagged_only" env:"TAGGED_ONLY"`
	// Exclude names tables to leave alone, as the INSERT names them: with the database
	// or schema only if the model's TableName includes it. Default: none.
	Exclude []string `yaml:"exclude" json:"exclude" env:"EXCLUDE"`
	// Wait bounds how long a statement waits for ids, for example in a burst or after the lease
	// has expired, and for numbers of segments. It has whole milliseconds. The statement's
	// context may end the wait earlier. Default: 2s.
	Wait time.Duration `yaml:"wait" json:"wait" env:"WAIT"`
	// Convert returns the value of a key that does not hold the plain id: text in another base,
	// bytes, or a type of the application. The plugin first calls Convert for the model, with the
	// id 1, and discards the value. If that value was nil without an error, the plugin
	// fills the model's keys itself. Otherwise it calls Convert for each row, and a nil value
	// is an error. Convert must be safe for concurrent use. Text in a base above 36 needs a
	// case-sensitive column, which is not MySQL's default. Default: none.
	Convert func(key *schema.Field, id int64) (any, error) `yaml:"-" json:"-" env:"-"`
	// Segments returns the source of the numbers of a segment, for keys tagged
	// `idworker:"segment=NAME"`. The plugin calls it once per model. Default: none.
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
