package history

import "time"

// At sets the clock of the host.
func (i *Issuer) At(now func() time.Time) *Issuer {
	i.now = now
	return i
}
