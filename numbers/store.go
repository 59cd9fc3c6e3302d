package numbers

import (
	"context"
	"fmt"

	"github.com/snowlease/snowlease/internal/numberstore"
)

// A Store reserves numbers, for any number of processes. Numbers of a dbseq.Center and
// redisseq.Numbers return a Store, and redisseq.Dispenser puts Redis in front of another Store.
// Only this module implements Store.
type Store interface {
	reserver
	// Close closes the connections that the store has opened, until its next call.
	Close() error
}

type reserver = numberstore.Store

// Create creates the name of cfg, whose first number is cfg.Start. It is for administrators: a
// store on Redis alone never creates a name itself. After a loss of data, stop running processes
// first, and choose Start above all numbers in use or reserved ahead. The command "snowlease
// segment create" does the same.
//
// Errors: ErrExists, errors of Validate and errors of the store.
func Create(ctx context.Context, store Store, cfg SegmentConfig) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	c, ok := store.(numberstore.Creator)
	if !ok {
		return fmt.Errorf("numbers: create %q: %T cannot create names: create the name in the store behind it", cfg.key(), store)
	}
	return c.Create(ctx, cfg.key(), cfg.withDefaults().Start)
}
