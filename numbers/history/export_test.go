package history

import "time"

func (i *Issuer) At(now func() time.Time) *Issuer {
	i.now = now
	return i
}
