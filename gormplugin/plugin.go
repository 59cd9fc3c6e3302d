package gormplugin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"gorm.io/gorm"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/snowflake"
)

const (
	// SkipKey disables the plugin for a session:
	//
	//	db.Set(gormplugin.SkipKey, true).Create(&row)
	//
	// Associations inherit the setting. Rows of many2many join tables do not, because GORM
	// passes them no settings.
	SkipKey = "idworker:skip"

	pluginName = "idworker"
)

type plugin struct {
	source snowflake.Source
	cfg    Config
	waited error // the cause of a context that ends after Config.Wait
}

// New returns a plugin that fills primary keys with ids of source, such as a *snowlease.Worker.
// db.Use returns an error for a nil source or an invalid cfg, and gorm.ErrRegistered for a
// second plugin on a *gorm.DB:
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
	waited := fmt.Errorf("no ids or numbers within the %v of gormplugin.Config.Wait: %w", cfg.Wait, context.DeadlineExceeded)
	return &plugin{source, cfg, waited}
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
	// The course of an INSERT, and the files:
	//
	//  1. Fill: key.go finds the key of the model, and column.go the values that it can hold.
	//     fill.go and maps.go count the zero keys and set them, reserve.go reserves the ids, and
	//     batch.go keeps them. upsert.go and found.go prepare for rows that exist already.
	//  2. Settle: maps.go, upsert.go and found.go give values the keys of their rows, and
	//     batch.go clears ids that no row has.
	f := &filler{plugin: p}
	// Before("*") runs before BEGIN, so that waiting for ids holds no connection. Other
	// anchors are absent with SkipDefaultTransaction.
	if err := db.Callback().Create().Before("*").Register("idworker:fill", f.fill); err != nil {
		return err
	}
	// The keys must be right before GORM saves the rows that refer to them.
	return db.Callback().Create().After("gorm:create").Before("gorm:save_after_associations").Register("idworker:settle", settle)
}

// A filler is a plugin on one database. Its state is freed with the *gorm.DB.
type filler struct {
	*plugin
	keys sync.Map // from *schema.Schema, of which GORM keeps one for each model, to *key
}

// excluded reports whether the statement inserts into a table of Config.Exclude.
func (p *plugin) excluded(stmt *gorm.Statement) bool {
	if len(p.cfg.Exclude) == 0 {
		return false
	}
	// GORM keeps the qualified name in the schema, and its last part in the statement.
	qualified := stmt.Schema.Table
	return slices.Contains(p.cfg.Exclude, stmt.Table) ||
		strings.HasSuffix(qualified, "."+stmt.Table) && slices.Contains(p.cfg.Exclude, qualified)
}

func skipped(stmt *gorm.Statement) bool {
	v, _ := stmt.Settings.Load(SkipKey)
	skip, _ := v.(bool)
	return skip
}
