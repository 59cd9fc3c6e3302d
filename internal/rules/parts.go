package rules

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/snowlease/snowlease/internal/printable"
)

// MetaPart is the name of the part that has the Meta. Each other part is a slot, whose name
// is the worker id. A worker id that was never lent has no part.
const MetaPart = "meta"

type metaPart struct {
	Format int `json:"format"`
	metaRecord
	Slots int    `json:"slots"`
	Lent  []byte `json:"lent,omitempty"` // the worker ids that have parts: worker id 0 is the lowest bit of the first byte
}

type slotPart struct {
	Expires *int64 `json:"expires"` // null: lost, as the mark
	Mark    *int64 `json:"mark"`
	ownerRecord
}

// NeverLent is the part of a worker id that was not lent since its part was lost.
const NeverLent = `{"expires":0,"mark":0,"token":0}`

// never is a slot that was never lent.
var never = Slot{HasLease: true, HasMark: true}

// Parts writes what is on record as one JSON text for the namespace and one for each worker
// id that was lent.
func (ns Namespace) Parts() (map[string]string, error) {
	parts, m := map[string]string{}, metaPart{Format: format, metaRecord: metaRecord(ns.Meta), Slots: len(ns.Slots)}
	put := func(name string, part any) error {
		text, err := json.Marshal(part)
		parts[name] = string(text)
		return err
	}
	for w, s := range ns.Slots {
		if s == never {
			continue
		}
		for len(m.Lent) <= w/8 {
			m.Lent = append(m.Lent, 0)
		}
		m.Lent[w/8] |= 1 << (w % 8)
		if s == (Slot{}) { // the part is lost
			continue
		}
		p := slotPart{ownerRecord: ownerRecord{Holder: s.Holder, Token: s.Token, Since: s.Since, Floor: s.Floor}}
		if s.HasLease {
			p.Expires = &s.Expires
		}
		if s.HasMark {
			p.Mark = &s.Mark
		}
		if s.Owner != [16]byte{} {
			p.Owner = hex.EncodeToString(s.Owner[:])
		}
		if err := put(strconv.Itoa(w), p); err != nil {
			return nil, err
		}
	}
	if ns.Meta == (Meta{}) {
		return parts, nil
	}
	return parts, put(MetaPart, m)
}

// OfParts reads what Parts wrote. Which worker ids lost their parts is in the part of the
// namespace; the loss of that part is evidence enough.
func OfParts(parts map[string]string) (Namespace, error) {
	var (
		ns    Namespace
		m     metaPart
		found = map[int]Slot{}
		slots int
	)
	for name, text := range parts {
		if name == MetaPart {
			if err := decodePart(text, &m); err != nil {
				return ns, fmt.Errorf("%s: %w", name, err)
			}
			switch q := m.Quarantine; {
			case m.Format != format:
				return ns, fmt.Errorf("its format is %d, not %d: another version wrote it", m.Format, format)
			case m.Slots < 0 || m.Slots > MaxPool || len(m.Lent) > (m.Slots+7)/8:
				return ns, fmt.Errorf("it has %d slots, and %d bytes say which were lent", m.Slots, len(m.Lent))
			case m.Pin == "" && m.Reason == "":
				return ns, fmt.Errorf("it has no pin")
			case q < 0 || q >= limit:
				return ns, fmt.Errorf("the quarantine %d is not 0 to %d", q, int64(limit-1))
			}
			ns.Meta = Meta(m.metaRecord)
			continue
		}
		w, err := strconv.Atoi(name)
		if err != nil || w < 0 || w >= MaxPool || strconv.Itoa(w) != name {
			return Namespace{}, fmt.Errorf("there is a record %q: another program wrote it", printable.Text(name))
		}
		if found[w], err = decodeSlot(text); err != nil {
			return Namespace{}, fmt.Errorf("worker id %d: %w", w, err)
		}
		slots = max(slots, w+1)
	}
	ns.Slots = make([]Slot, max(slots, m.Slots))
	for w := range ns.Slots {
		s, ok := found[w]
		if !ok && (w/8 >= len(m.Lent) || m.Lent[w/8]>>(w%8)&1 == 0) {
			s = never
		}
		ns.Slots[w] = s
	}
	return ns, nil
}

func decodeSlot(text string) (s Slot, err error) {
	var p slotPart
	if err := decodePart(text, &p); err != nil {
		return s, err
	}
	err = record{Leases: []*int64{p.Expires}, Marks: []*int64{p.Mark}, Owners: []*ownerRecord{&p.ownerRecord}}.slot(0, &s)
	return s, err
}

func decodePart(text string, part any) error {
	if err := json.Unmarshal([]byte(text), part); err != nil {
		return fmt.Errorf("it is not the JSON of a record: %s", printable.Text(err.Error()))
	}
	return nil
}
