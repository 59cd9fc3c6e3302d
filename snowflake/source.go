package snowflake

import "context"

// A Source is where ids come from, for code that stores them: a *snowlease.Worker, a
// *snowlease.Stream, a *numbers.Segment.
type Source interface {
	// NextIDs fills dst with distinct ids greater than 0. If it has none at the moment,
	// it waits until ctx ends and then returns an error. On error, no id in dst may be
	// used. NextIDs does not keep dst and is safe for concurrent use.
	NextIDs(ctx context.Context, dst []int64) error
}
