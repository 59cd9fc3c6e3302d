package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/alicebob/miniredis/v2"
	"github.com/caarlos0/env/v11"
	"go.yaml.in/yaml/v3"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/providers"
	"github.com/snowlease/snowlease/providers/secret"
	"github.com/snowlease/snowlease/providers/sqldb"
)

// A config contains the configurations of the modules.
type config struct {
	Listen        string            `yaml:"listen" env:"LISTEN"`                   // host:port of the HTTP server
	Operators     string            `yaml:"operators" env:"OPERATORS"`             // host:port of the console and the probes; "": the same as Listen
	Hosts         []string          `yaml:"hosts" env:"HOSTS"`                     // names of this service in requests, besides localhost and addresses
	LogLevel      slog.Level        `yaml:"log_level" env:"LOG_LEVEL"`             // debug, info, warn or error
	Once          bool              `yaml:"once" env:"ONCE"`                       // exit after the sample orders
	OrderIDSecret secret.String     `yaml:"order_id_secret" env:"ORDER_ID_SECRET"` // seals the ids of orders; "": they show their time
	Providers     providers.Config  `yaml:",inline"`                               // db and redis
	IDWorker      idworker.Config   `yaml:"idworker" envPrefix:"IDWORKER_"`
	GORMPlugin    gormplugin.Config `yaml:"gormplugin" envPrefix:"GORMPLUGIN_"`
}

func defaults() config {
	return config{
		Listen:    "127.0.0.1:8080",
		Providers: providers.Config{DB: sqldb.Config{DSN: "fxapp.db"}},
		IDWorker: idworker.Config{
			Namespace: "fxapp", Mode: idworker.ModeDB,
			Series: []numbers.SeriesConfig{{Name: "invoices", Period: numbers.Month, Format: "INV-{2006}-{01}-{000000}", Gapless: true}},
		},
	}
}

// Each flag sets an environment variable of this process.
var flags = []struct{ name, variable, usage string }{
	{"listen", "LISTEN", "`host:port` of the HTTP server (default 127.0.0.1:8080)"},
	{"mode", "IDWORKER_MODE", "`source` of worker ids: db, redis, auto, local or redis-sequence (default db)"},
	{"namespace", "IDWORKER_NAMESPACE", "`name` that the replicas share (default fxapp)"},
	{"wait", "IDWORKER_WAIT", "`duration` to wait for a free worker id (default 10s)"},
	{"driver", "DB_DRIVER", "`kind` of the database: sqlite, mysql or postgres (default: guessed from the DSN)"},
	{"dsn", "DB_DSN", "data source `name` of the database (default fxapp.db, a SQLite file)"},
	{"redis", "REDIS_ADDRS", "`host:port` of Redis; separate several Sentinels or cluster nodes by commas (default: an embedded Redis, in the modes that need one)"},
	{"redis-master", "REDIS_MASTER", "`name` of the master that the Sentinels watch"},
	{"log-level", "LOG_LEVEL", "`level` of the log: debug, info, warn or error (default info)"},
}

// load returns the configuration. Flags override the environment, which overrides the
// file. For -help it prints the usage to out and returns flag.ErrHelp.
func load(args, environ []string, out io.Writer) (config, error) {
	c, variables := defaults(), env.ToMap(environ)
	fs := flag.NewFlagSet("fxapp", flag.ContinueOnError)
	fs.SetOutput(out)
	path := fs.String("config", "", "read this YAML `file`; config.example.yaml has every key")
	fs.BoolFunc("once", "print the sample orders and exit", func(s string) error { variables["FXAPP_ONCE"] = s; return nil })
	for _, f := range flags {
		fs.Func(f.name, f.usage, func(s string) error { variables["FXAPP_"+f.variable] = s; return nil })
	}
	if err := fs.Parse(args); err != nil {
		return c, err
	} else if fs.NArg() > 0 {
		return c, fmt.Errorf("argument %q is unknown: see -help for the flags", fs.Arg(0))
	}
	if *path != "" {
		if err := c.readFile(*path); err != nil {
			return c, err
		}
	}
	if err := env.ParseWithOptions(&c, env.Options{Prefix: "FXAPP_", Environment: variables}); err != nil {
		return c, fmt.Errorf("environment and flags: %w", err)
	}
	if c.IDWorker.Mode == idworker.ModeLocal && c.IDWorker.Local.Dir == "" && !c.IDWorker.Local.Stateless {
		c.IDWorker.Local.Dir, _ = filepath.Abs("fxapp.local") // empty on an error, which idworker reports
	}
	_, err := c.orderCodec()
	return c, errors.Join(c.IDWorker.Validate(), c.Providers.Validate(), c.GORMPlugin.Validate(), err)
}

// yamlValues matches the values that errors of package yaml quote. They may be secrets.
var yamlValues = regexp.MustCompile("`.*`|anchor '.*'|[:@/=]\\S[^\\n]* not found")

func (c *config) readFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	d := yaml.NewDecoder(file)
	d.KnownFields(true)
	if err := d.Decode(c); err != nil && !errors.Is(err, io.EOF) { // EOF: the file is empty
		return fmt.Errorf("%s: %s", path, yamlValues.ReplaceAllString(err.Error(), "..."))
	}
	return nil
}

// embedRedis starts a Redis in this process if the mode needs one and none is configured.
// It returns a function that stops it.
func (c *config) embedRedis(log *slog.Logger) (stop func(), err error) {
	if !strings.HasPrefix(string(c.IDWorker.Mode), "redis") || !c.Providers.Redis.IsZero() {
		return func() {}, nil
	}
	server, err := miniredis.Run()
	if err != nil {
		return nil, fmt.Errorf("start an embedded Redis: %w", err)
	}
	c.Providers.Redis.Addrs = []string{server.Addr()}
	c.IDWorker.Store.Durable = true // it has no run_id to compare
	log.Warn("fxapp: using an embedded Redis, which copies of this program do not share: run only one, or set -redis host:port")
	return server.Close, nil
}
