package counter

import (
	"cmp"
	"errors"
	"time"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/lease"
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
	case err == nil, errors.Is(err, generator.ErrExhausted): // a burst, so Redis works
		return issuing
	case inQuarantine(err):
		return waiting
	}
	return failing
}

// conclude records how a call ended, and logs a change of condition.
func (c *Counter) conclude(began time.Time, err error) {
	var was, is *outcome
	last := fault.Told(err)
	for was == nil || !c.outcome.CompareAndSwap(was, is) {
		was, is = c.outcome.Load(), &outcome{err: last}
		if conditionOf(err) != issuing {
			is.since = cmp.Or(was.since, began)
		}
	}
	now := conditionOf(err)
	if c.cfg.Logger == nil || now == conditionOf(was.err) {
		return
	}
	q := (*lease.QuarantineError)(nil)
	switch log := c.cfg.Logger.With("namespace", c.cfg.Namespace, "center", c.conn.String()); {
	case now == issuing:
		log.Info("sequence issues ids")
	case errors.As(err, &q) && q.Reason == lease.NothingOnRecord && c.known.Load() == 0:
		log.Info("new namespace; waiting for its first id", "wait", q.Wait(), "hint", "if it is not new, check its spelling and which store this is")
	default:
		log.Warn("sequence unavailable", "failing_since", is.since, "err", err)
	}
}
