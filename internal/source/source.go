// Package source is what package snowlease offers the other packages of this module: a Worker
// of ids that are not leased, and errors that advise the users of another package.
package source

import (
	"context"

	"github.com/snowlease/snowlease/lease"
)

// A Source is where the ids of a snowlease.Worker come from. Its methods are safe for
// concurrent use. Status is snowlease.Status, which this package cannot import.
type Source[Status any] interface {
	// Start makes ids available. It returns attributes for the log.
	Start(ctx context.Context) (facts []any, err error)
	// Close ends issuing until the next Start, then gives back what was borrowed. A second Close
	// does nothing.
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
	// Extras returns those of the center, or their equivalent if there is no center.
	Extras() lease.Extras
}

// A Stream issues the ids of a business number.
type Stream interface {
	NextID() (int64, error)
	NextIDWait(ctx context.Context) (int64, error)
	NextIDs(ctx context.Context, dst []int64) error
}

// With is a Center for snowlease.New that brings a Setup along.
type With[Status any] struct {
	lease.Center
	Setup[Status]
}

// A Setup is what a Worker has in addition to a center and a configuration.
type Setup[Status any] struct {
	// Source issues the ids in place of a center, which is then nil.
	Source Source[Status]
	// Name returns what errors call a field of snowlease.Config. Default: the field.
	Name func(field string) string
	// Advise adds to an error of an id what to do, unless Explain knows the cause.
	// Default: nothing is added.
	Advise func(error) error
	// Free frees what was opened for the Worker, once after each start. Default: nothing.
	Free func() error
}
