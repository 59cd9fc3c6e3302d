package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
)

// envPrefix starts the variables: FXAPP_DB_DSN is db.dsn.
const envPrefix = "FXAPP_"

// flags are the settings that have one. All others are set by file or environment.
var flags = []struct{ name, key, usage string }{
	{"listen", "listen", "`host:port` of the HTTP server (default 127.0.0.1:8080)"},
	{"mode", "idworker.mode", "`where` worker ids come from: db, redis, auto, local or redis-sequence (default db)"},
	{"namespace", "idworker.namespace", "`name` that replicas share (default fxapp)"},
	{"wait", "idworker.wait", "how long to wait for a free worker id, a `duration` (default 10s)"},
	{"driver", "db.driver", "`kind` of the database: sqlite, mysql or postgres (default: by the form of the DSN)"},
	{"dsn", "db.dsn", "data source `name` of the database (default fxapp.db, a SQLite file)"},
	{"redis", "redis.addrs", "`host:port` of Redis, several with commas: Sentinels or cluster nodes (default: an embedded Redis, for the modes of Redis)"},
	{"redis-master", "redis.master", "`name` of the master that the Sentinels watch"},
	{"log-level", "log_level", "`level` of the log: debug, info, warn or error (default info)"},
}

// load reads the configuration: defaults, the file over them, the environment over
// that, flags over all. Help goes to out, with flag.ErrHelp.
func load(args, environ []string, out io.Writer) (config, error) {
	l := loader{k: koanf.New("."), keys: keysOf(config{}), sources: map[string]string{}}
	fs := flag.NewFlagSet("fxapp", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	path := fs.String("config", "", "read this YAML `file`; config.example.yaml has every key")
	keys := map[string]string{}
	for _, f := range flags {
		fs.String(f.name, "", f.usage)
		keys[f.name] = f.key
	}
	fs.Bool("once", false, "print the sample orders and end")
	keys["once"] = "once"
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(out, "Usage of fxapp: flags go over the environment (%sDB_DSN for the key db.dsn, and so on), that over the file.\n", envPrefix)
		fs.SetOutput(out)
		fs.PrintDefaults()
		return config{}, err
	case err != nil:
		return config{}, fmt.Errorf("%w: see -help", err)
	case fs.NArg() > 0:
		return config{}, fmt.Errorf("argument %q is not known: settings are flags, see -help", fs.Arg(0))
	}

	var errs []error
	if *path != "" {
		errs = append(errs, l.file(*path))
	}
	errs = append(errs, l.environ(environ))
	fs.Visit(func(f *flag.Flag) {
		if key := keys[f.Name]; key != "" {
			errs = append(errs, l.text("flag -"+f.Name, key, f.Value.String()))
		}
	})
	if err := errors.Join(errs...); err != nil {
		return config{}, err
	}
	cfg := defaults()
	if err := errors.Join(decode(l.k, &cfg, true)...); err != nil {
		return config{}, err
	}
	cfg.complete()
	if err := cfg.validate(); err != nil {
		return config{}, fmt.Errorf("%w%s", err, l.where(err.Error()))
	}
	return cfg, nil
}

// A loader puts the layers of a configuration together.
type loader struct {
	k       *koanf.Koanf
	keys    map[string]bool // known: whether it is a list
	sources map[string]string
}

func (l *loader) file(path string) error {
	source := "file " + path
	layer := koanf.New(".")
	if err := layer.Load(file.Provider(path), yaml.Parser()); err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("%s: cannot be read: %w", source, err)
		}
		return fmt.Errorf("%s: cannot be read: %s", source, quoted.ReplaceAllString(err.Error(), "..."))
	}
	return l.add(source, layer, false)
}

// environ takes the variables that start with envPrefix.
func (l *loader) environ(environ []string) error {
	names := map[string]string{}
	for key := range l.keys {
		names[envPrefix+strings.ToUpper(strings.ReplaceAll(key, ".", "_"))] = key
	}
	var errs []error
	take := func(name, value string) (string, any) {
		key, known := names[name]
		if !known {
			errs = append(errs, fmt.Errorf("environment variable %s: is no setting: %s and a key of config.example.yaml, in capitals with _ for the dots, such as %sDB_DSN", name, envPrefix, envPrefix))
			return "", nil
		}
		errs = append(errs, l.text("environment variable "+name, key, value))
		return "", nil
	}
	_, err := env.Provider(".", env.Opt{Prefix: envPrefix, TransformFunc: take, EnvironFunc: func() []string { return environ }}).Read()
	return errors.Join(append(errs, err)...)
}

// text adds one setting that is given as a text.
func (l *loader) text(source, key, value string) error {
	layer := koanf.New(".")
	var v any = value
	if l.keys[key] {
		v = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	}
	if err := layer.Set(key, v); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	return l.add(source, layer, true)
}

// add puts a layer over the ones before, if all in it can be understood.
func (l *loader) add(source string, layer *koanf.Koanf, texts bool) error {
	var errs []error
	for _, key := range layer.Keys() {
		if !l.known(key) {
			errs = append(errs, fmt.Errorf("%s: key %s: is unknown: see config.example.yaml", source, l.shown(key)))
		}
		l.sources[key] = source
	}
	for _, err := range decode(layer, new(config), texts) {
		errs = append(errs, fmt.Errorf("%s: %w", source, err))
	}
	return errors.Join(append(errs, l.k.Merge(layer))...)
}

// quoted are the values that an error about YAML shows.
var quoted = regexp.MustCompile("(?s)`.*`|anchor '.*'")

// plain is what a key is made of.
var plain = regexp.MustCompile(`^[\w.-]*`)

// shown returns a key without what may be a value: what stands below a setting, as with
// {password: {secret}}, and what follows a colon, as with {password:secret}.
func (l *loader) shown(key string) string {
	for k := range l.keys {
		if strings.HasPrefix(key, k+".") {
			return k + ".***"
		}
	}
	if name := plain.FindString(key); name != key {
		return name + "***"
	}
	return key
}

// known tells whether there is such a key, or others below it.
func (l *loader) known(key string) bool {
	_, known := l.keys[key]
	for k := range l.keys {
		known = known || strings.HasPrefix(k, key+".")
	}
	return known
}

// decode reads k into cfg. texts lets numbers and the like be read from texts.
func decode(k *koanf.Koanf, cfg *config, texts bool) []error {
	err := k.UnmarshalWithConf("", cfg, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		DecodeHook:       mapstructure.ComposeDecodeHookFunc(mapstructure.StringToTimeDurationHookFunc(), mapstructure.TextUnmarshallerHookFunc()),
		WeaklyTypedInput: texts,
		MatchName:        func(key, field string) bool { return key == field },
		Result:           cfg,
		TagName:          "koanf",
	}})
	return explain(k, err)
}

// where tells who has set the keys that a text speaks of.
func (l *loader) where(text string) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(l.sources)) {
		word := regexp.MustCompile(`\b` + regexp.QuoteMeta(key[strings.LastIndexByte(key, '.')+1:]) + `\b`)
		if word.MatchString(text) {
			lines = append(lines, key+" by "+l.sources[key])
		}
	}
	if lines == nil {
		return ""
	}
	return "\nset were: " + strings.Join(lines, ", ")
}
