package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/providers/redis"
	"github.com/snowlease/snowlease/providers/sqldb"
)

// configFile is read by default.
const configFile = "config.yaml"

// A fileConfig is the part of an application's configuration that names the store.
type fileConfig struct {
	namespace  string
	mode       idworker.Mode
	numbers    string // segment_store
	quarantine lease.Quarantine
	tables     string // table_prefix
	series     []string
	db         sqldb.Config
	redis      redis.Config
	unknown    map[idworker.Mode]string // a key of db or redis that is none of theirs
}

// readFile reads the configuration in a YAML text whose idworker part is at key. Its errors
// show no value.
func readFile(text []byte, key string) (c fileConfig, err error) {
	config, around, _, err := find(text, key)
	if err != nil {
		return c, err
	}
	var ids struct {
		Namespace    string        `yaml:"namespace"`
		Mode         idworker.Mode `yaml:"mode"`
		SegmentStore string        `yaml:"segment_store"`
		Series       []struct {
			Name string `yaml:"name"`
		} `yaml:"series"`
		Store struct {
			Quarantine  lease.Quarantine `yaml:"quarantine"`
			TablePrefix string           `yaml:"table_prefix"`
		} `yaml:"store"`
	}
	_ = config.Decode(&ids) // faults are for those who read all of it
	c.namespace, c.mode, c.numbers, c.quarantine = ids.Namespace, ids.Mode, ids.SegmentStore, ids.Store.Quarantine
	c.tables = ids.Store.TablePrefix
	for _, s := range ids.Series {
		c.series = append(c.series, s.Name)
	}
	c.unknown = map[idworker.Mode]string{}
	for name, part := range map[idworker.Mode]any{idworker.ModeDB: &c.db, idworker.ModeRedis: &c.redis} {
		n := lookup(around, string(name))
		if n == nil {
			continue
		}
		if n.Decode(part) != nil {
			return c, fmt.Errorf("the values of %s are not of the types that package providers reads", name)
		}
		var keys map[string]any
		_ = n.Decode(&keys)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if !slices.Contains(keysOf(part), key) {
				c.unknown[name] = key
			}
		}
	}
	return c, nil
}

// keysOf returns the YAML keys of a pointer to a struct.
func keysOf(part any) (keys []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(part).Elem()) {
		keys = append(keys, f.Tag.Get("yaml"))
	}
	return keys
}

// uses returns what the configuration uses, and the setting that says so: the store of the
// worker ids, that of numbers, or that of series. It returns "" if the file does not say.
func (c fileConfig) uses(numbers, series bool) (kind idworker.Mode, why string) {
	name, value := "mode", string(c.mode)
	switch {
	case series:
		return idworker.ModeDB, "a series"
	case numbers:
		name, value = "segment_store", c.numbers
	}
	switch hasDB, hasRedis := c.db.DSN != "", len(c.redis.Addrs) > 0; {
	case value == string(idworker.ModeDB), numbers && value == string(idworker.SegmentStoreDBRedis):
		return idworker.ModeDB, name + ": " + value
	case value == string(idworker.ModeRedis), !numbers && c.mode == idworker.ModeRedisSequence:
		return idworker.ModeRedis, name + ": " + value
	case hasDB && !hasRedis:
		return idworker.ModeDB, "db"
	case hasRedis && !hasDB:
		return idworker.ModeRedis, "redis"
	}
	return "", name
}

// readConfig returns the idworker configuration at key in a YAML file.
func readConfig(file, key string) (idworker.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return idworker.Config{}, err
	}
	checked, err := checkConfig(text, key)
	switch {
	case err != nil:
		err = fmt.Errorf("%s: %w", file, err)
	case len(checked.faults) > 0:
		err = fmt.Errorf("%s has faults: see \"snowlease config check %s\"; with --preset, its layout is not read", file, file)
	}
	return checked.config, err
}

// sameNamespace returns an error if --namespace differs from the namespace in a file.
func (f *storeFlags) sameNamespace(file, namespace string) error {
	if f.namespace == "" || namespace == "" || f.namespace == namespace {
		return nil
	}
	hint := ""
	if key := keyOf(file, f.namespace); key != "" {
		hint = fmt.Sprintf(", or name its key: --config %s --key %s", file, key)
	}
	return fmt.Errorf("--namespace %q and the namespace %q of %s differ: leave one of them out%s", f.namespace, namespace, file, hint)
}

var errNoStore = errors.New("--store is empty: give a URL of redis, mysql, postgres or sqlite (see --help), with a password by " + envStore + ", or --config FILE")

// noStore returns the error for a store that is named nowhere, with the key if configFile has
// the namespace at another one. Without the key, its layout and quarantine would not be read.
func (f *storeFlags) noStore() error {
	if key := keyOf(configFile, f.namespace); key != "" {
		return fmt.Errorf("--store is empty, and the namespace is not that of the key idworker in %s: name its key: --config %s --key %s", configFile, configFile, key)
	}
	if key := keyOf(configFile, ""); key != "" && f.namespace != "" {
		return fmt.Errorf("--store is empty, and %s does not configure the namespace %q: name its store with --store or %s", configFile, f.namespace, envStore)
	}
	return errNoStore
}

// defaultFile returns configFile if the working directory has it and its key idworker
// configures the namespace of f, or any if f has none, else "".
func (f *storeFlags) defaultFile() string {
	if f.key != "" {
		return ""
	}
	text, err := os.ReadFile(configFile)
	if err != nil {
		return ""
	}
	_, _, key, err := find(text, "")
	if err != nil || key == "" {
		return ""
	}
	c, _ := readFile(text, "")
	if c.namespace == "" || f.namespace != "" && f.namespace != c.namespace {
		return ""
	}
	return configFile
}

// namespaceOfFile sets the namespace to that of the application's configuration, if there is one.
func (f *storeFlags) namespaceOfFile() error {
	file := cmp.Or(f.file, f.defaultFile())
	if file == "" {
		return nil
	}
	c, err := f.config()
	f.namespace = c.namespace
	return err
}

// isSeries reports whether the application's configuration, if there is one, has a series of that
// name.
func (f *storeFlags) isSeries(name string) (bool, error) {
	if cmp.Or(f.file, f.defaultFile()) == "" || !f.program.configures() {
		return false, nil
	}
	c, err := f.config()
	if f.file == "" {
		err = nil // the file may be of another application
	}
	return slices.Contains(c.series, name), err
}

// prefixOfFile takes the table_prefix from the application's configuration, for a store that is
// named otherwise.
func (f *storeFlags) prefixOfFile() error {
	if !f.program.configures() || f.file == "" && (f.namespace == "" && !f.numbers || f.defaultFile() == "") {
		return nil
	}
	c, err := f.config()
	if err == nil {
		err = f.sameNamespace(cmp.Or(f.file, configFile), c.namespace)
	}
	if f.tables = c.tables; f.file == "" {
		err = nil // the file may be of another application
	}
	return err
}

// oneStore returns an error if the environment and the file of --config both name a store. A
// variable left over from elsewhere must not beat a file that is named.
func (f *storeFlags) oneStore() error {
	if f.file == "" || !f.program.configures() {
		return nil
	}
	c, err := f.config()
	if err != nil {
		return err
	}
	hasDB, hasRedis := c.db.DSN != "", len(c.redis.Addrs) > 0
	if kind, _ := c.uses(f.numbers, f.series); hasDB && kind != idworker.ModeRedis || hasRedis && kind != idworker.ModeDB {
		return fmt.Errorf("%s and %s both name a store: unset %s to use that of the file, or name one with --store", envStore, f.file, envStore)
	}
	return nil
}

// config reads the application's configuration.
func (f *storeFlags) config() (c fileConfig, err error) {
	file := cmp.Or(f.file, f.defaultFile())
	text, err := os.ReadFile(file)
	if err != nil {
		return c, err
	}
	if c, err = readFile(text, f.key); err != nil {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return c, err
}

// configured sets the store to db or redis of the application's configuration, and the
// quarantine too if asked.
func (f *storeFlags) configured(quarantine bool) error {
	file := cmp.Or(f.file, f.defaultFile())
	if file == "" {
		return f.noStore()
	}
	c, err := f.config()
	if err != nil {
		return err
	}
	if err := f.sameNamespace(file, c.namespace); err != nil {
		return err
	}
	if quarantine && c.quarantine != "" {
		f.quarantine = c.quarantine
	}
	c.db = c.db.WithDefaults()
	f.from, f.tables = file, c.tables
	kind, why := c.uses(f.numbers, f.series)
	if key := c.unknown[kind]; key != "" { // a misspelled tls would be ignored
		return fmt.Errorf("%s: unknown key %q of %s: correct it, or name the store with --store or %s if %s is not read by package providers", file, plain(key), kind, envStore, kind)
	}
	switch {
	case kind == "" && c.db.DSN != "":
		return fmt.Errorf("--store is empty, and %s has both db and redis: name one by %s: db or redis in the file, or by --store or %s", file, why, envStore)
	case kind == "":
		return fmt.Errorf("--store is empty, and %s has neither db nor redis: give --store or %s (the application's environment is not read)", file, envStore)
	case kind == idworker.ModeRedis && len(c.redis.Addrs) == 0, kind == idworker.ModeDB && c.db.DSN == "":
		return fmt.Errorf("--store is empty, and %s has %s, but no %s: give --store or %s; environment variables of the application are not read", file, why, kind, envStore)
	case kind == idworker.ModeRedis:
		f.at = f.program.OnRedis(c.redis)
	default:
		driver := map[string]string{"mysql": "mysql", "postgres": "pgx", "sqlite": "sqlite"}[c.db.Driver]
		if driver == "" {
			return fmt.Errorf("%s: db.driver is none of mysql, postgres and sqlite, or the dsn has the form of none", file)
		}
		f.at = f.program.OnDB(driver, c.db.DSN)
	}
	return nil
}
