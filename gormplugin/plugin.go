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

// A Plugin fills primary keys. Create it with New and register it with db.Use. It is
// safe for concurrent use and may serve several databases.
type Plugin struct {
	source  snowflake.Source
	cfg     Config
	waited  error // the cause of the end of a context after Config.Wait
	exclude map[string]bool
}

var _ gorm.Plugin = (*Plugin)(nil)

// New returns a plugin that takes ids from source, such as an *snowlease.Worker. db.Use
// reports a nil source and an invalid cfg:
//
//	err := db.Use(gormplugin.New(worker, gormplugin.Config{}))
func New(source snowflake.Source, cfg Config) *Plugin {
	cfg = cfg.withDefaults()
	p := &Plugin{
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

// Name returns "idworker", the plugin's name in GORM. db.Use refuses a second plugin of
// that name on a *gorm.DB with gorm.ErrRegistered.
func (p *Plugin) Name() string { return pluginName }

// Initialize registers the callbacks; db.Use calls it. It must not run concurrently with
// statements on db, since GORM does not lock its callbacks.
func (p *Plugin) Initialize(db *gorm.DB) error {
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
	f := &filler{Plugin: p}
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

// A filler is a Plugin on one database. What it keeps goes when the database does.
type filler struct {
	*Plugin
	keys sync.Map // *schema.Schema -> *key
}

// excluded reports whether the statement inserts into a table of Config.Exclude.
func (p *Plugin) excluded(stmt *gorm.Statement) bool {
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
