package redisseq

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// SequenceScript is the script of a Sequence.
func SequenceScript() string { return sequenceLua }

// Use makes s run another script.
func (s *Sequence) Use(script string) { s.script = redis.NewScript(script) }

// SetWall sets this host's clock.
func (s *Sequence) SetWall(now func() time.Time) { s.wall = now }

// SetMono sets what blocks grow old by.
func (s *Sequence) SetMono(now func() time.Duration) { s.mono = now }

// Reserve calls Redis once.
func (s *Sequence) Reserve(ctx context.Context, n int64) (first, got int64, err error) {
	return s.reserve(ctx, n)
}

// Forget makes s a member that was given nothing yet.
func (s *Sequence) Forget() { s.known.Store(0) }

// Wait is what an error says of how long the lead lasts.
func Wait(err error) time.Duration {
	var exhausted *exhaustedError
	if !errors.As(err, &exhausted) {
		return 0
	}
	return exhausted.wait
}
