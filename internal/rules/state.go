package rules

import (
	"fmt"
	"slices"

	"github.com/snowlease/snowlease/lease"
)

var noPin lease.Pin

// Namespace is the records of a center for one namespace; the zero value is empty. It
// is a value: no method changes its receiver.
type Namespace struct {
	Meta  Meta
	Shape string // what slots show of the layout and the pool
	Slots []Slot // by worker id, or in the order of Part.Workers
	Part  *Part  // nil if Slots are all there are
}

// A Part is what a store says of a namespace of which it has not loaded all slots.
type Part struct {
	Workers []int64 // the worker ids of Slots, ascending
	Leases  int64   // how many slots of the pool have a recorded lease
	Marks   int64   // how many have a mark
	Any     bool    // some part of a slot is recorded
	Hold    int64   // the greatest recorded Slot.Hold
	Least   int64   // the least
	Used    int64   // the greatest recorded Slot.Used
	Soonest int64   // when the first worker id of the request is free, or 0 if Slots tell
}

// Meta is the record of the namespace as a whole.
type Meta struct {
	Pin         lease.Pin // zero means no record
	Incarnation string    // of the store when last used
	Former      string    // the incarnation before
	Quarantine  int64     // nothing is lent at or below it
	Reason      string    // of the quarantine
}

// Slot is the records of one worker id.
type Slot struct {
	HasLease bool // Expires is recorded
	HasMark  bool // Mark is recorded
	Expires  int64
	Mark     int64

	Owner  lease.Owner // zero: nobody; see Spent
	Holder string
	Token  int64
	Since  int64
	Floor  int64

	// Hold is the lease.Pin.Hold of the pin that the slot carries, in milliseconds: what a loss of
	// other records allows for. Used is the part of it that grants of that pin keep to.
	Hold, Used int64
}

// Announced returns ns, which has no Meta, with one that only says that somebody is about to
// create it. The nonce makes it differ from every other.
func (ns Namespace) Announced(nonce [16]byte) Namespace {
	ns.Meta.Reason = fmt.Sprintf("being created: %x", nonce)
	return ns
}

// Empty reports whether ns has no records, or is only announced.
func (ns Namespace) Empty() bool {
	return ns.Meta == Meta{Reason: ns.Meta.Reason} && !slices.ContainsFunc(ns.Slots, func(s Slot) bool { return s != Slot{} }) &&
		(ns.Part == nil || !ns.Part.Any)
}

// Equal reports whether both have the same records.
func (ns Namespace) Equal(other Namespace) bool {
	return ns.Meta == other.Meta && slices.Equal(ns.Slots, other.Slots) && (ns.Part == other.Part || ns.Part.sums() == other.Part.sums())
}

func (p *Part) sums() [5]int64 { return [5]int64{p.Leases, p.Marks, p.Hold, p.Least, p.Used} }

// Worker returns the worker id of ns.Slots[i].
func (ns Namespace) Worker(i int) int64 {
	if ns.Part != nil {
		return ns.Part.Workers[i]
	}
	return int64(i)
}

// index returns where the slot of a worker id is in ns.Slots.
func (ns Namespace) index(worker int64) (i int, ok bool) {
	if ns.Part != nil {
		return slices.BinarySearch(ns.Part.Workers, worker)
	}
	return int(worker), worker >= 0 && worker < int64(len(ns.Slots))
}

// Slot returns the slot of a worker id, which is empty if it has none.
func (ns Namespace) Slot(worker int64) Slot {
	if i, ok := ns.index(worker); ok {
		return ns.Slots[i]
	}
	return Slot{}
}

// parted returns ns with a changed Part.
func (ns Namespace) parted(change func(*Part)) Namespace {
	p := *ns.Part
	change(&p)
	ns.Part = &p
	return ns
}

// WithoutLease returns ns after the loss of the lease of a worker.
func (ns Namespace) WithoutLease(worker int64) Namespace {
	return ns.with(worker, func(s *Slot) { s.HasLease, s.Expires = false, 0 })
}

// WithoutMark returns ns after the loss of the mark of a worker.
func (ns Namespace) WithoutMark(worker int64) Namespace {
	return ns.with(worker, func(s *Slot) { s.HasMark, s.Mark = false, 0 })
}

// WithoutOwners returns ns after the loss of all owners.
func (ns Namespace) WithoutOwners() Namespace {
	ns.Slots = slices.Clone(ns.Slots)
	for w, s := range ns.Slots {
		ns.Slots[w] = Slot{HasLease: s.HasLease, HasMark: s.HasMark, Expires: s.Expires, Mark: s.Mark, Hold: s.Hold, Used: s.Used}
	}
	return ns
}

// WithoutMeta returns ns after the loss of its Meta record.
func (ns Namespace) WithoutMeta() Namespace {
	ns.Meta = Meta{}
	return ns
}

func (ns Namespace) with(worker int64, change func(*Slot)) Namespace {
	i, _ := ns.index(worker)
	ns.Slots = slices.Clone(ns.Slots)
	s := &ns.Slots[i]
	if change(s); !s.HasLease && !s.HasMark {
		s.Hold, s.Used = 0, 0
	}
	return ns
}
