package rules

import (
	"cmp"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

// QuarantineEnd returns a time that no forgotten grant of the pin exceeds, whatever its TTL was.
func QuarantineEnd(now int64, pin lease.Pin) int64 { return now + ms(pin.Hold()) }

// Quarantined refuses a floor that a quarantine has put too far ahead for a request.
func Quarantined(reason string, floor, now int64, pin lease.Pin, req lease.Request) error {
	lead := By(pin, req).MaxLead
	if floor < now+ms(lead) {
		return nil
	}
	until := floor - ms(lead) + 1
	if c := pin.Change; c.MaxTTL > 0 && !c.Falls { // until the raise is used
		at := Advanced(pin, now).Change.At
		pin.Change = lease.PinChange{}
		until = min(until, max(floor-ms(By(pin, req).MaxLead)+1, at))
	}
	return &lease.QuarantineError{
		Namespace: req.Namespace, Reason: cmp.Or(printable.Text(reason), "no reason is on record"),
		Now: time.UnixMilli(now), Until: time.UnixMilli(until),
	}
}
