package counter

import (
	"errors"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// logChange logs that calls of Redis have failed with err since then, or that Redis issues ids
// again if err is nil.
func (c *Counter) logChange(since time.Time, err error) {
	if c.cfg.Logger == nil {
		return
	}
	q := (*lease.QuarantineError)(nil)
	switch log := c.cfg.Logger.With("namespace", c.cfg.Namespace, "center", c.conn.String()); {
	case err == nil:
		log.Info("sequence issues ids")
	case errors.As(err, &q) && q.Reason == lease.NothingOnRecord && c.of.Stats().Above == 0:
		log.Info("new namespace; waiting for its first id", "wait", q.Wait(), "hint", "if it is not new, check its spelling and which store this is")
	default:
		log.Warn("sequence unavailable", "failing_since", since, "err", err)
	}
}
