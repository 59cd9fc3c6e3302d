package rules

import (
	"time"

	"github.com/snowlease/snowlease/lease"
)

// ClockVeto refuses a borrower whose clock differs too much from the center's. A center
// far ahead of the true time would spoil the marks.
func ClockVeto(now int64, req lease.Request) error {
	if req.CallerTime == 0 || max(now-req.CallerTime, req.CallerTime-now) <= ms(lease.MaxClockError) {
		return nil
	}
	return &lease.ClockError{Namespace: req.Namespace, Center: time.UnixMilli(now), Local: time.UnixMilli(req.CallerTime)}
}
