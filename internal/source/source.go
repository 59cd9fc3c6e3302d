// Package source is what package snowlease offers to other packages of this module: a Worker of
// ids that are not leased, and errors that advise the users of another package.
package source

import (
	"context"

	"github.com/snowlease/snowlease/lease"
)

// A Source supplies the ids of a snowlease.Worker. Its methods are safe for concurrent use.
// Status is snowlease.Status, which this package cannot import.
type Source[Status any] interface {
	// Start makes ids available. It returns attributes for the log.
	Start(ctx context.Context) (facts []any, err error)
	// Close ends issuing until the next Start, then releases what was borrowed. A second Close does
	// nothing.
	Close() error
	// Reset implements Worker.Reset.
	Reset(ctx context.Context) error
	// For returns the ids of a business number.
	For(business int64) (Stream, error)
	// Err returns why no id can be issued at this moment, or nil.
	Err() error
	// Explain adds the cause to an error of a Stream or of Err, if it is known.
	Explain(err error) error
	// Report fills in the fields of st that depend on the source.
	Report(st *Status)
	// Extras returns the center's Extras, or their equivalent if there is no center.
	Extras() lease.Extras
}

// A Stream issues the ids of a business number.
type Stream interface {
	NextID() (int64, error)
	NextIDWait(ctx context.Context) (int64, error)
	NextIDs(ctx context.Context, dst []int64) error
}

// With is a Center for snowlease.New together with a Setup.
type With[Status any] struct {
	lease.Center
	Setup[Status]
}

// A Setup is what a Worker has in addition to a center and a configuration.
type Setup[Status any] struct {
	// Source issues the ids in place of a center, which is then nil.
	Source Source[Status]
	// Name returns the name of a field of snowlease.Config in errors. Default: the field.
	Name func(field string) string
	// Advise adds a remedy to an error of NextID, unless Explain has added the cause. Default:
	// nothing is added.
	Advise func(error) error
	// Free frees the resources that were opened for the Worker, once after each start. Default:
	// nothing.
	Free func() error
}
