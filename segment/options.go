package segment

import "log/slog"

// An Option of Open.
type Option func(*Issuer)

// WithLogger has the store's changes logged: one warning when it begins to fail, one
// line when it answers again, none in between. Close writes nothing, and neither does
// a caller whose context ends before the store answers. Default, and nil: nothing is
// logged.
func WithLogger(log *slog.Logger) Option {
	return func(i *Issuer) {
		if log != nil {
			i.log = log
		}
	}
}

// tell logs how the store's answers have changed: to err, or to numbers.
func (i *Issuer) tell(err error) {
	if err != nil {
		i.log.Warn("segment store failing", "segment", i.cfg.Name, "store", i.storeName(), "err", err)
		return
	}
	i.log.Info("segment store answers again", "segment", i.cfg.Name, "store", i.storeName())
}
