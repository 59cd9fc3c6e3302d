package history

import (
	"math"
	"time"

	"github.com/snowlease/snowlease/numbers"
)

// Of are the settings of an Issuer whose worker need not be real.
type Of = setup

func NewOf(store numbers.Store, cfg Of) (*Issuer, error) {
	if cfg.Ready == nil {
		cfg.Ready = func() (int64, error) { return math.MaxInt64, nil }
	}
	cfg.Layout = cfg.Layout.WithDefaults()
	cfg.Last = cfg.Layout.Workers()
	return newIssuer(store, cfg)
}

func (i *Issuer) PerSpan() int64 { return i.perSpan() }

func (i *Issuer) At(now func() time.Time) *Issuer {
	i.now = now
	return i
}
