package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease/keeper"
	"github.com/snowlease/snowlease/providers"
	"github.com/snowlease/snowlease/segment"
)

// config is all that can be configured. The parts are the ones of the modules.
type config struct {
	// Listen is the host:port of the HTTP server; port 0 is any free one.
	Listen string `koanf:"listen"`
	// LogLevel is debug, info, warn or error.
	LogLevel slog.Level `koanf:"log_level"`
	// Once ends the program after the sample orders.
	Once bool `koanf:"once"`

	Providers  providers.Config  `koanf:",squash"` // db and redis
	IDWorker   idworker.Config   `koanf:"idworker"`
	GORMPlugin gormplugin.Config `koanf:"gormplugin"`
}

func defaults() config {
	return config{
		Listen:    "127.0.0.1:8080",
		LogLevel:  slog.LevelInfo,
		Providers: providers.Config{DB: providers.DBConfig{DSN: "fxapp.db"}},
		IDWorker: idworker.Config{
			Namespace: "fxapp", Mode: idworker.ModeDB,
			Segments: []segment.Config{{Name: invoices, Order: segment.OrderStrict, Max: 99_999_999}},
		},
	}
}

// complete fills in what follows from other settings.
func (c *config) complete() {
	db := &c.Providers.DB
	db.Driver = cmp.Or(db.Driver, driverOf(string(db.DSN)))
	r := c.Providers.Redis
	if len(r.Addrs) == 0 {
		r.Addrs = nil // [] in a file
	}
	r.PoolSize, r.ConnectTimeout, r.Timeout = 0, 0, 0
	if l := &c.IDWorker.Local; c.IDWorker.Mode == idworker.ModeLocal && l.Dir == "" && !l.Stateless {
		if dir, err := filepath.Abs("fxapp.local"); err == nil {
			l.Dir = dir // beside the SQLite file, to try it out
		}
	}
	usesRedis := strings.Contains(c.IDWorker.SegmentStore, idworker.SegmentStoreRedis)
	if !usesRedis && c.IDWorker.Mode == idworker.ModeDB || !usesRedis && c.IDWorker.Mode == idworker.ModeLocal || r.IsZero() {
		c.Providers.Redis = providers.RedisConfig{} // not connected to
	}
}

// driverOf guesses the driver by the form of a DSN: "" where it has none of the forms.
func driverOf(dsn string) string {
	path, _, _ := strings.Cut(dsn, "?")
	switch {
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"),
		strings.Contains(dsn, "host="), strings.Contains(dsn, "dbname="), strings.Contains(dsn, "password="):
		return "postgres"
	case strings.Contains(dsn, "@tcp("), strings.Contains(dsn, "@unix("), strings.Contains(dsn, "@/"):
		return "mysql"
	case strings.Contains(path, "="):
		return "" // a setting, or a path whose driver is to be named
	case strings.ContainsAny(strings.TrimPrefix(strings.TrimPrefix(dsn, "file:"), ":memory:"), ":@"):
		return ""
	}
	return "sqlite"
}

// validate reports every fault in one error.
func (c *config) validate() error {
	errs := []error{c.IDWorker.Validate(), c.Providers.Validate(), c.GORMPlugin.Validate()}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		errs = append(errs, fmt.Errorf("fxapp: listen %q is not host:port: give one such as 127.0.0.1:8080", c.Listen))
	}
	return errors.Join(errs...)
}

// embedsRedis: a mode of Redis without an address.
func (c *config) embedsRedis() bool {
	return (c.IDWorker.Mode == idworker.ModeRedis || c.IDWorker.Mode == idworker.ModeRedisSequence) && c.Providers.Redis.IsZero()
}

// database names the database for people. A DSN may hold a password; a path does not.
func (c *config) database() string {
	db := c.Providers.DB
	if db.Driver != "sqlite" {
		return db.Driver
	}
	path, _, _ := strings.Cut(strings.TrimPrefix(string(db.DSN), "file:"), "?")
	if abs, err := filepath.Abs(path); err == nil && path != "" && !strings.HasPrefix(path, ":") {
		path = abs
	}
	return "sqlite " + path
}

// startTimeout bounds the start: the wait for a worker id, and all else.
func (c *config) startTimeout() time.Duration {
	return cmp.Or(c.IDWorker.Wait, keeper.DefaultWait) + 30*time.Second
}
