package gormplugin

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"gorm.io/gorm"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/snowflake"
)

const (
	// SkipKey switches the plugin off for a session:
	//
	//	db.Set(gormplugin.SkipKey, true).Create(&row)
	//
	// Associations inherit it, but not the rows of many2many join tables, to which GORM
	// passes no settings.
	SkipKey = "idworker:skip"

	pluginName = "idworker"
)

type plugin struct {
	source  snowflake.Source
	cfg     Config
	waited  error // the cause of the end of a context after Config.Wait
	exclude map[string]bool
}

// New returns a plugin that fills primary keys with ids of source, such as an
// *snowlease.Worker. db.Use reports a nil source and an invalid cfg, and refuses a second
// plugin on a *gorm.DB with gorm.ErrRegistered:
//
//	err := db.Use(gormplugin.New(worker, gormplugin.Config{}))
//
// The plugin is safe for concurrent use and may serve several databases. Its Name is
// "idworker". db.Use must not run concurrently with statements, since GORM does not lock its
// callbacks.
func New(source snowflake.Source, cfg Config) gorm.Plugin {
	return newPlugin(source, cfg)
}

func newPlugin(source snowflake.Source, cfg Config) *plugin {
	cfg = cfg.withDefaults()
	p := &plugin{
		source:  source,
		cfg:     cfg,
		waited:  fmt.Errorf("no ids or numbers within the %v of gormplugin.Config.Wait: %w", cfg.Wait, context.DeadlineExceeded),
		exclude: make(map[string]bool, len(cfg.Exclude)),
	}
	for _, table := range cfg.Exclude {
		p.exclude[table] = true
	}
	return p
}

func (p *plugin) Name() string { return pluginName }

// Initialize registers the callbacks; db.Use calls it.
func (p *plugin) Initialize(db *gorm.DB) error {
	if fault.Nil(p.source) {
		return fmt.Errorf("gormplugin: the source of ids is nil (%T); pass the *snowlease.Worker", p.source)
	}
	if err := p.cfg.Validate(); err != nil {
		return err
	}
	// The way of an INSERT, and its files:
	//
	//  1. Fill. key.go finds the key of the model and column.go what it can hold; fill.go and
	//     maps.go count the zero keys and set them, reserve.go takes the ids, batch.go remembers
	//     whose they are. upsert.go and found.go prepare for rows that are there already.
	//  2. Settle: maps.go, upsert.go and found.go give values the keys of their rows, batch.go
	//     takes back ids that no row has.
	f := &filler{plugin: p}
	// Before("*") runs before BEGIN, so that waiting for ids holds no connection. Other
	// anchors are absent with SkipDefaultTransaction.
	if err := db.Callback().Create().Before("*").Register("idworker:fill", f.fill); err != nil {
		return err
	}
	// The keys must be right before GORM saves the rows that refer to them.
	return db.Callback().Create().After("gorm:create").Before("gorm:save_after_associations").Register("idworker:settle", func(db *gorm.DB) {
		settleMaps(db)
		settleRows(db)
		p.settleBatch(db)
		settleFound(db)
	})
}

// A filler is a plugin on one database. What it keeps goes when the database does.
type filler struct {
	*plugin
	keys sync.Map // *schema.Schema -> *key
}

// excluded reports whether the statement inserts into a table of Config.Exclude.
func (p *plugin) excluded(stmt *gorm.Statement) bool {
	if len(p.exclude) == 0 {
		return false
	}
	// GORM keeps a qualified name in the schema and its last part in the statement.
	qualified := stmt.Schema.Table
	return p.exclude[stmt.Table] || strings.HasSuffix(qualified, "."+stmt.Table) && p.exclude[qualified]
}

func skipped(stmt *gorm.Statement) bool {
	v, _ := stmt.Settings.Load(SkipKey)
	skip, _ := v.(bool)
	return skip
}
