package counter

import (
	"errors"

	"github.com/snowlease/snowlease/snowflake"
)

// A condition is the state of a Counter that its log shows.
type condition int32

const (
	issuing condition = iota
	failing
	waiting // for the end of a quarantine
)

func conditionOf(err error) condition {
	switch {
	case err == nil, errors.Is(err, snowflake.ErrExhausted): // a burst, so Redis works
		return issuing
	case inQuarantine(err):
		return waiting
	}
	return failing
}

// conclude records how a call ended, and logs a change of condition.
func (c *Counter) conclude(err error) {
	c.outcome.Store(&outcome{err})
	now := conditionOf(err)
	if c.told.Swap(int32(now)) == int32(now) {
		return
	}
	if c.cfg.Logger == nil {
		return
	}
	log := c.cfg.Logger.With("namespace", c.cfg.Namespace, "center", c.conn.String())
	if now == issuing {
		log.Info("sequence issues again")
		return
	}
	log.Warn("sequence unavailable", "err", err)
}
