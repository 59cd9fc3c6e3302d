package rules

import (
	"cmp"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

// QuarantineEnd returns a time that no forgotten grant of the pin exceeds, whatever its TTL was.
func QuarantineEnd(now int64, pin lease.Pin) int64 { return now + ms(pin.Hold()) }

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
