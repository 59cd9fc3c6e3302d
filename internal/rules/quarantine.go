package rules

import (
	"cmp"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

// Forgotten returns how long after now, in milliseconds, a grant may last that records have lost. pin is
// what stored, or nothing on record, became when a member joined. Nobody has used a raise before its
// time, by any clock that differs from now by no more than the skew: what lacks the raise's end lags by
// less than the time to it.
func Forgotten(stored, pin lease.Pin, now int64) int64 {
	c := pin.Change
	if stored != noPin && c.MaxTTL > 0 && !c.Falls && (c.At <= 0 || now < c.At-ms(pin.Skew)) {
		return ms(c.MaxTTL + pin.Skew)
	}
	return ms(pin.Hold())
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
