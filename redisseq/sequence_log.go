package redisseq

import (
	"errors"
	"log/slog"

	"github.com/snowlease/snowlease/snowflake"
)

// WithLogger has a Sequence log how its ids stand: one warning when Redis begins to
// fail, one when a quarantine is met, one line when ids are issued again, none in between.
// Start waits for the first quarantine of a namespace, and logs it so. A Center itself logs
// nothing. Default, and nil: nothing is logged.
func WithLogger(log *slog.Logger) Option {
	return func(c *Center) error {
		if log != nil {
			c.log = log
		}
		return nil
	}
}

// A condition of a Sequence: what its log tells of.
type condition int32

const (
	issuing condition = iota
	failing
	waiting // for the end of a quarantine
)

func conditionOf(err error) condition {
	switch {
	case err == nil, errors.Is(err, snowflake.ErrExhausted): // a burst, which Redis has answered
		return issuing
	case inQuarantine(err):
		return waiting
	}
	return failing
}

// conclude notes how a call ended, and logs a change.
func (s *Sequence) conclude(err error) {
	s.outcome.Store(&outcome{err})
	now := conditionOf(err)
	if s.told.Swap(int32(now)) == int32(now) {
		return
	}
	log := s.center.log.With("namespace", s.cfg.Namespace, "center", s.center.String())
	if now == issuing {
		log.Info("sequence issues again")
		return
	}
	log.Warn("sequence unavailable", "err", err)
}
