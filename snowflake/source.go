package snowflake

import "context"

// A Source is where ids come from, for code that stores them: a *Generator, a Stream, an
// *idworker.IdWorker, a *segment.Issuer.
type Source interface {
	// NextIDs fills dst with distinct ids greater than 0 and does not keep dst. Where
	// it has none at the moment it waits for as long as ctx, whose end is an error.
	// It is safe for concurrent use.
	NextIDs(ctx context.Context, dst []int64) error
}

var (
	_ Source = (*Generator)(nil)
	_ Source = Stream{}
)
