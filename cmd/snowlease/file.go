package main

import (
	"fmt"
	"os"

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
	quarantine lease.Quarantine
	db         sqldb.Config
	redis      redis.Config
}

// readFile reads the configuration in a YAML text whose idworker part is at key. Its errors
// show no value.
func readFile(text []byte, key string) (c fileConfig, err error) {
	config, around, _, err := find(text, key)
	if err != nil {
		return c, err
	}
	var ids struct {
		Namespace string `yaml:"namespace"`
		Store     struct {
			Quarantine lease.Quarantine `yaml:"quarantine"`
		} `yaml:"store"`
	}
	_ = config.Decode(&ids) // faults are for those who read all of it
	c.namespace, c.quarantine = ids.Namespace, ids.Store.Quarantine
	for name, part := range map[string]any{"db": &c.db, "redis": &c.redis} {
		if n := lookup(around, name); n != nil && n.Decode(part) != nil {
			return c, fmt.Errorf("the values of %s are not of the types that package providers reads", name)
		}
	}
	return c, nil
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
	if f.key == "" {
		hint = "; a second configuration in the file has a key of its own: name it, as in --key " + f.namespace
	}
	return fmt.Errorf("--namespace %q and the namespace %q of %s differ: leave one of them out%s", f.namespace, namespace, file, hint)
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

// configured sets the store to db or redis of the application's configuration, and the
// quarantine too if asked.
func (f *storeFlags) configured(quarantine bool) error {
	file := f.file
	if file == "" {
		file = f.defaultFile()
	}
	if file == "" {
		return errNoStore
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	c, err := readFile(text, f.key)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := f.sameNamespace(file, c.namespace); err != nil {
		return err
	}
	if quarantine && c.quarantine != "" {
		f.quarantine = c.quarantine
	}
	c.db = c.db.WithDefaults()
	f.from = file
	switch {
	case c.db.DSN != "" && len(c.redis.Addrs) > 0:
		return fmt.Errorf("--store is empty, and %s has both db and redis: name the one to use with --store or %s", file, envStore)
	case len(c.redis.Addrs) > 0:
		f.at = target{Redis: c.redis}
	case c.db.DSN == "":
		return fmt.Errorf("--store is empty, and %s has neither db nor redis: give --store or %s; environment variables of the application are not read", file, envStore)
	default:
		driver := map[string]string{"mysql": "mysql", "postgres": "pgx", "sqlite": "sqlite"}[c.db.Driver]
		if driver == "" {
			return fmt.Errorf("%s: db.driver is none of mysql, postgres and sqlite, or the dsn has the form of none", file)
		}
		f.at = target{Driver: driver, DSN: c.db.DSN}
	}
	return nil
}
