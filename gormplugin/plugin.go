package gormplugin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"gorm.io/gorm"
)

const (
	// SkipKey switches the plugin off for a session:
	//
	//	db.Set(gormplugin.SkipKey, true).Create(&row)
	//
	// Associations that are saved along inherit it, rows of many2many join tables do
	// not: GORM hands no settings on to those.
	SkipKey = "idworker:skip"

	pluginName = "idworker"
)

// Generator is where ids come from; *idworker.IdWorker and *snowflake.Generator are
// such. It is an alias of a type without a name, so that idworker can provide it to fx
// and Module can ask for it while neither package imports the other.
type Generator = interface {
	// NextIDs fills dst with distinct ids greater than 0 and does not keep dst. Where
	// it has none at the moment it waits for as long as ctx, whose end is an error.
	// It must be safe for concurrent use.
	NextIDs(ctx context.Context, dst []int64) error
}

// Plugin fills primary keys. It is made by New, registered by db.Use and safe for
// concurrent use; one Plugin may serve several databases.
type Plugin struct {
	gen     Generator
	cfg     Config
	waited  error // the cause of a context that ends after Config.Wait
	exclude map[string]bool
	keys    sync.Map  // *schema.Schema -> *key
	batches sync.Pool // of *batch
}

var _ gorm.Plugin = (*Plugin)(nil)

// New returns a plugin that takes ids from gen. Faults of cfg are reported by
// db.Use:
//
//	err := db.Use(gormplugin.New(worker, gormplugin.Config{}))
func New(gen Generator, cfg Config) *Plugin {
	cfg = cfg.withDefaults()
	p := &Plugin{
		gen:     gen,
		cfg:     cfg,
		waited:  fmt.Errorf("waited %v, which Config.Wait allows: %w", cfg.Wait, context.DeadlineExceeded),
		exclude: make(map[string]bool, len(cfg.Exclude)),
	}
	for _, table := range cfg.Exclude {
		p.exclude[table] = true
	}
	p.batches.New = func() any { return new(batch) }
	return p
}

// Name returns "idworker", under which GORM keeps the plugin. A second one on the
// same *gorm.DB is refused by db.Use with gorm.ErrRegistered.
func (p *Plugin) Name() string { return pluginName }

// Initialize is called by db.Use. It must not run beside statements on db: GORM
// does not lock its callbacks.
func (p *Plugin) Initialize(db *gorm.DB) error {
	if p.gen == nil {
		return errors.New("gormplugin: the generator is nil: pass the *idworker.IdWorker")
	}
	if err := p.cfg.Validate(); err != nil {
		return err
	}
	// "*" is the one anchor that holds with SkipDefaultTransaction as well. It lies
	// before BEGIN, so that waiting for ids holds no connection.
	if err := db.Callback().Create().Before("*").Register("idworker:fill", p.fill); err != nil {
		return err
	}
	return db.Callback().Create().After("*").Register("idworker:settle", func(db *gorm.DB) {
		settleMaps(db)
		settleRows(db)
	})
}

// excluded tells whether the statement inserts into a table of Config.Exclude.
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
