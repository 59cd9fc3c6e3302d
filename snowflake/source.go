package snowflake

import "context"

// A Source supplies ids to code that stores them. A *snowlease.Worker, a *snowlease.Stream and a
// *numbers.Segment are Sources.
type Source interface {
	// NextIDs fills dst with distinct ids greater than 0. If it has none at the moment,
	// it waits until ctx ends and then returns an error. On error, no id in dst may be
	// used. NextIDs does not keep dst and is safe for concurrent use.
	NextIDs(ctx context.Context, dst []int64) error
}
