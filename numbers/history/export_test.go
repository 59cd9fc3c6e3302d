package history

import "time"

func (i *Issuer) PerSpan() int64 { return i.perSpan() }

func (i *Issuer) At(now func() time.Time) *Issuer {
	i.now = now
	return i
}
