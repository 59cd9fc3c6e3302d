package rules

import (
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

// Record implements lease.Operator.Record.
func (ns Namespace) Record(now int64) (lease.Record, error) {
	if ns.Meta.Pin == noPin {
		return lease.Record{}, lease.ErrUnknown
	}
	m := ns.Meta
	return lease.Record{
		Pin: m.Pin, Quarantine: m.Quarantine, Now: now,
		Incarnation: printable.Text(m.Incarnation), Former: printable.Text(m.Former), Reason: printable.Text(m.Reason),
	}, nil
}

// Quarantined implements lease.Operator.Quarantine.
func (ns Namespace) Quarantined(now int64, reason string) (Namespace, error) {
	pin := ns.Meta.Pin
	if pin == noPin {
		return ns, lease.ErrUnknown
	}
	if err := pin.Err(); err != nil {
		return ns, err
	}
	ns.Meta.Quarantine = max(ns.Meta.Quarantine, QuarantineEnd(now, pin))
	ns.Meta.Reason = printable.Text(reason)
	return ns, nil
}

// Revoke implements lease.Operator.Revoke.
func (ns Namespace) Revoke(now, worker, token int64) (Namespace, error) {
	// To write a slot whose lease or mark is missing would hide the loss.
	if s := ns.Slot(worker); ns.Meta.Pin == noPin || !s.HasLease || !s.HasMark || s.Since == 0 || s.Token != token {
		return ns, lease.ErrLost
	}
	return ns.with(worker, func(s *Slot) {
		*s = Slot{HasLease: s.HasLease, HasMark: s.HasMark, Token: s.Token, Expires: min(s.Expires, freed(now)), Mark: s.Mark, Hold: s.Hold, Used: s.Used}
	}), nil
}

// Retire implements lease.Operator.Retire. A loss begins a quarantine instead, because nobody could
// notice it later: req has the pinned settings, or no pool if they are not readable.
func (ns Namespace) Retire(now int64, incarnation string, req lease.Request, reason string) (Namespace, error) {
	switch {
	case ns.Meta.Pin == noPin:
		return ns, lease.ErrUnknown
	case ns.Meta.Pin.Retired:
		return ns, nil
	case req.Pool > 0 && ns.loss(now, incarnation, req.Pool) != "":
		ns, _, err := ns.Acquire(now, incarnation, req)
		return ns, err
	}
	ns.Meta.Pin = lease.Pin{Retired: true, Reason: printable.Text(reason)}
	ns.Shape = shapeOf(ns.Meta.Pin)
	return ns, nil
}
