package rules

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

const format = 1

// MaxPool is the largest pool that a record can have, so that none costs its readers much.
const MaxPool = 4096

// MetaPart is the name of the part that has the Meta. Each other part is a slot, whose name
// is the worker id. A worker id that was never lent has no part.
const MetaPart = "meta"

type metaPart struct {
	Format      int    `json:"format"`
	Pin         string `json:"pin"`
	Incarnation string `json:"incarnation,omitempty"`
	Former      string `json:"former,omitempty"`
	Quarantine  int64  `json:"quarantine,omitempty"`
	Reason      string `json:"reason,omitempty"`
	Slots       int    `json:"slots"`
	Lent        []byte `json:"lent,omitempty"` // the worker ids that have parts: worker id 0 is the lowest bit of the first byte
}

type slotPart struct {
	Expires *int64 `json:"expires"` // null: lost, as the mark
	Mark    *int64 `json:"mark"`
	Owner   string `json:"owner,omitempty"` // hex
	Holder  string `json:"holder,omitempty"`
	Token   int64  `json:"token"`
	Since   int64  `json:"since,omitempty"`
	Floor   int64  `json:"floor,omitempty"`
	Hold    int64  `json:"hold,omitempty"`
	Used    int64  `json:"used,omitempty"`
	Shape   string `json:"shape,omitempty"`
}

// NeverLent is the part of a worker id that was not lent since its part was lost.
const NeverLent = `{"expires":0,"mark":0,"token":0}`

// never reports whether s was never lent. What such a slot shows of the pin is the pin itself.
func never(s Slot) bool { return s == Slot{HasLease: true, HasMark: true, Hold: s.Hold, Used: s.Used} }

// Encode writes the records as one JSON text. Package casstore describes its form.
func (ns Namespace) Encode() []byte {
	record := map[string]json.RawMessage{}
	for name, text := range ns.Parts() {
		record[name] = json.RawMessage(text)
	}
	return []byte(encode(record))
}

// Decode reads what Encode wrote; an empty text has no records.
func Decode(value []byte) (Namespace, error) {
	if len(value) == 0 {
		return Namespace{}, nil
	}
	var record map[string]json.RawMessage
	if err := decode(value, &record); err != nil {
		return Namespace{}, err
	}
	if _, ok := record["format"]; ok {
		return Namespace{}, damaged("it has another format: another version wrote it")
	}
	parts := map[string]string{}
	for name, text := range record {
		parts[name] = string(text)
	}
	return OfParts(parts)
}

// Parts writes the records as one JSON text for the namespace and one for each worker
// id that was lent.
func (ns Namespace) Parts() map[string]string {
	parts := map[string]string{}
	m := metaPart{
		Format: format, Pin: ns.Meta.Pin.String(), Incarnation: ns.Meta.Incarnation, Former: ns.Meta.Former,
		Quarantine: ns.Meta.Quarantine, Reason: ns.Meta.Reason, Slots: len(ns.Slots),
	}
	for w, s := range ns.Slots {
		if never(s) {
			continue
		}
		for len(m.Lent) <= w/8 {
			m.Lent = append(m.Lent, 0)
		}
		m.Lent[w/8] |= 1 << (w % 8)
		if s == (Slot{}) { // the part is lost
			continue
		}
		p := slotPart{Holder: strings.ToValidUTF8(s.Holder, "?"), Token: s.Token, Since: s.Since, Floor: s.Floor, Hold: s.Hold, Used: s.Used, Shape: ns.Shape}
		if s.HasLease {
			p.Expires = &s.Expires
		}
		if s.HasMark {
			p.Mark = &s.Mark
		}
		if s.Owner != [16]byte{} {
			p.Owner = hex.EncodeToString(s.Owner[:])
		}
		parts[strconv.Itoa(w)] = encode(p)
	}
	if ns.Meta != (Meta{}) {
		parts[MetaPart] = encode(m)
	}
	return parts
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
			var err error
			if m, ns.Meta, err = decodeMeta(text); err != nil {
				return ns, err
			}
			continue
		}
		w, err := strconv.Atoi(name)
		if err != nil || w < 0 || w >= MaxPool || strconv.Itoa(w) != name {
			return Namespace{}, damaged("there is a record %q, which is no worker id", printable.Text(name))
		}
		var shape string
		if found[w], shape, err = decodeSlot(int64(w), text); err != nil {
			return Namespace{}, err
		}
		ns.Shape = max(ns.Shape, shape)
		slots = max(slots, w+1)
	}
	if m.Pin != "" && slots > m.Slots {
		return Namespace{}, damaged("there is a record %q beyond the %d of the namespace", strconv.Itoa(slots-1), m.Slots)
	}
	ns.Slots = make([]Slot, max(slots, m.Slots))
	for w := range ns.Slots {
		s, ok := found[w]
		if !ok && (w/8 >= len(m.Lent) || m.Lent[w/8]>>(w%8)&1 == 0) {
			s.HasLease, s.HasMark = true, true
		}
		if never(s) {
			s = s.carrying(ns.Meta.Pin)
		}
		ns.Slots[w] = s
	}
	return ns, nil
}

func decodeMeta(text string) (m metaPart, meta Meta, err error) {
	if err := decode([]byte(text), &m); err != nil {
		return m, meta, err
	}
	meta = Meta{Pin: lease.ParsePin(m.Pin), Incarnation: m.Incarnation, Former: m.Former, Quarantine: m.Quarantine, Reason: m.Reason}
	switch {
	case m.Format != format:
		err = damaged("its format is %d, not %d: another version wrote it", m.Format, format)
	case m.Slots < 0 || m.Slots > MaxPool || len(m.Lent) > (m.Slots+7)/8:
		err = damaged("it has %d slots, and %d bytes say which were lent", m.Slots, len(m.Lent))
	case m.Pin == "" && m.Reason != "": // announced
	default:
		err = meta.Check()
	}
	return m, meta, err
}

func decodeSlot(worker int64, text string) (s Slot, shape string, err error) {
	var p slotPart
	if err := decode([]byte(text), &p); err != nil {
		return s, "", err
	}
	s = Slot{HasLease: p.Expires != nil, HasMark: p.Mark != nil, Holder: p.Holder, Token: p.Token, Since: p.Since, Floor: p.Floor, Hold: p.Hold, Used: p.Used}
	if s.HasLease {
		s.Expires = *p.Expires
	}
	if s.HasMark {
		s.Mark = *p.Mark
	}
	if n, err := hex.Decode(s.Owner[:], []byte(p.Owner[:min(len(p.Owner), 32)])); err != nil || len(p.Owner) != 2*n || n != 0 && n != 16 {
		return s, "", damaged("owner of worker id %d is %q, not 32 hexadecimal digits", worker, printable.Text(p.Owner))
	}
	return s, p.Shape, s.Check(worker)
}

func encode(record any) string {
	text, _ := json.Marshal(record) // fails only for other types
	return string(text)
}

func decode(text []byte, to any) error {
	if err := json.Unmarshal(text, to); err != nil {
		return damaged("it is not the JSON of a record: %s", printable.Text(err.Error()))
	}
	return nil
}
