package rules

import (
	"cmp"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

// Forgotten returns how long after now, in milliseconds, a grant may last that records have lost. stored
// is the pin on record, or nothing, and pin what it became when a member joined. Nobody has used a raise
// before its time, by any clock that differs from now by no more than the skew: what lacks the time of a
// raise lags by less than the time to it.
func Forgotten(stored, pin lease.Pin, now int64) int64 {
	used := cmp.Or(stored.MaxTTL, pin.MaxTTL)
	if c := stored.Change; c.MaxTTL > 0 && !c.Falls && (c.At <= 0 || now < c.At-ms(pin.Skew)) {
		used = c.MaxTTL
	}
	return ms(used + pin.Skew)
}

// Quarantined refuses a floor that a quarantine has put too far ahead for a request By a pin.
func Quarantined(reason string, floor, now int64, pin lease.Pin, req lease.Request) error {
	if floor < now+ms(req.MaxLead) {
		return nil
	}
	until := floor - ms(req.MaxLead) + 1
	if c := pin.Change; c.MaxTTL > 0 && !c.Falls && req.MaxLead > 0 { // until the raise is used
		until = min(until, max(until-ms(pin.MaxTTL-c.MaxTTL), Advanced(pin, now).Change.At))
	}
	return &lease.QuarantineError{
		Namespace: req.Namespace, Reason: cmp.Or(printable.Text(reason), "no reason is on record"),
		Now: time.UnixMilli(now), Until: time.UnixMilli(until),
	}
}
