package numbers

import (
	"log/slog"
	"time"
)

// An Option configures a Segment in New and Open. A nil Option is ignored.
type Option func(*Segment)

// WithLogger logs changes in the state of the store: one warning when it begins to fail
// and one line when it answers again. It does not log failures caused by Close or by a
// caller whose context ends. With nil, which is the default, nothing is logged.
func WithLogger(log *slog.Logger) Option {
	return func(i *Segment) {
		if log != nil {
			i.log = log
		}
	}
}

// logChange logs that the store has failed since then with err, or answers again if err is
// nil.
func (i *Segment) logChange(since time.Time, err error) {
	if err != nil {
		i.log.Warn("segment store failing", "segment", i.cfg.key(), "store", i.storeName(), "failing_since", since, "err", err)
		return
	}
	i.log.Info("segment store answers again", "segment", i.cfg.key(), "store", i.storeName())
}
