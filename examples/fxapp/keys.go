package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/v2"
)

// keysOf returns the keys of a configuration, by its tags, and whether each is a list.
func keysOf(cfg config) map[string]bool {
	keys := map[string]bool{}
	var walk func(prefix string, t reflect.Type)
	walk = func(prefix string, t reflect.Type) {
		for i := range t.NumField() {
			f := t.Field(i)
			name, option, _ := strings.Cut(f.Tag.Get("koanf"), ",")
			switch {
			case name == "-" || !f.IsExported():
			case option == "squash":
				walk(prefix, f.Type)
			case f.Type.Kind() == reflect.Struct:
				walk(prefix+name+".", f.Type)
			default:
				keys[prefix+name] = f.Type.Kind() == reflect.Slice
			}
		}
	}
	walk("", reflect.TypeOf(cfg))
	return keys
}

// explain says of each value that cannot be read which one it is.
func explain(k *koanf.Koanf, err error) (errs []error) {
	switch e := err.(type) { //nolint:errorlint // one level at a time
	case nil:
	case *mapstructure.DecodeError:
		errs = append(errs, fmt.Errorf("key %s:%s %w", e.Name(), shown(k, e.Name()), e.Unwrap()))
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			errs = append(errs, explain(k, one)...)
		}
	case interface{ Unwrap() error }:
		errs = explain(k, e.Unwrap())
	default:
		errs = append(errs, err)
	}
	return errs
}

// shown returns the value of a key, unless it may be a secret.
func shown(k *koanf.Koanf, key string) string {
	key, _, _ = strings.Cut(key, "[") // an element of a list
	// A DSN may stand where db or redis.addrs expect something else.
	if section, _, _ := strings.Cut(key, "."); section == "db" || section == "redis" {
		return ""
	}
	return fmt.Sprintf(" value %q:", fmt.Sprint(k.Get(key)))
}
