package rules

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/snowlease/snowlease/internal/printable"
)

const format = 1

// MaxPool is the largest pool that a record can have, so that none costs its readers much.
const MaxPool = 4096

// limit bounds times and tokens, which then may be added to.
const limit = 1e15

// record is the JSON of a namespace.
type record struct {
	Format int            `json:"format"`
	Meta   *metaRecord    `json:"meta"`
	Leases []*int64       `json:"leases"`
	Marks  []*int64       `json:"marks"`
	Owners []*ownerRecord `json:"owners"`
}

type metaRecord struct {
	Pin         string `json:"pin"`
	Incarnation string `json:"incarnation,omitempty"`
	Former      string `json:"former,omitempty"`
	Quarantine  int64  `json:"quarantine,omitempty"`
	Reason      string `json:"reason,omitempty"`
}

type ownerRecord struct {
	Owner  string `json:"owner,omitempty"` // hex; empty: given back
	Holder string `json:"holder,omitempty"`
	Token  int64  `json:"token"`
	Since  int64  `json:"since,omitempty"`
	Floor  int64  `json:"floor,omitempty"`
}

// Encode writes what is on record as JSON, whose form package casstore describes.
func (ns Namespace) Encode() ([]byte, error) {
	r := record{Format: format}
	if ns.Meta != (Meta{}) {
		m := metaRecord(ns.Meta)
		r.Meta = &m
	}
	for _, s := range ns.Slots {
		var expires, mark *int64
		if s.HasLease {
			expires = &s.Expires
		}
		if s.HasMark {
			mark = &s.Mark
		}
		r.Leases, r.Marks = append(r.Leases, expires), append(r.Marks, mark)
		o := ownerRecord{Holder: s.Holder, Token: s.Token, Since: s.Since, Floor: s.Floor}
		if s.Owner != [16]byte{} {
			o.Owner = hex.EncodeToString(s.Owner[:])
		}
		var written *ownerRecord
		if o != (ownerRecord{}) {
			written = &o
		}
		r.Owners = append(r.Owners, written)
	}
	return json.Marshal(r)
}

// Decode reads what Encode wrote; an empty text has nothing on record.
func Decode(value []byte) (Namespace, error) {
	var (
		r  record
		ns Namespace
	)
	if len(value) == 0 {
		return ns, nil
	}
	if err := json.Unmarshal(value, &r); err != nil {
		return ns, fmt.Errorf("it is not the JSON of a record: %s", printable.Text(err.Error()))
	}
	n := max(len(r.Leases), len(r.Marks), len(r.Owners))
	switch {
	case r.Format != format:
		return ns, fmt.Errorf("its format is %d, not %d: another version wrote it", r.Format, format)
	case n > MaxPool:
		return ns, fmt.Errorf("it has %d slots, more than %d", n, MaxPool)
	case r.Meta == nil && n == 0:
		return ns, fmt.Errorf("there is nothing in it")
	}
	if r.Meta != nil {
		if q := r.Meta.Quarantine; q < 0 || q >= limit {
			return ns, fmt.Errorf("the quarantine %d is not 0 to %d", q, int64(limit-1))
		}
		ns.Meta = Meta(*r.Meta)
	}
	ns.Slots = make([]Slot, n)
	for w := range ns.Slots {
		if err := r.slot(w, &ns.Slots[w]); err != nil {
			return Namespace{}, fmt.Errorf("worker id %d: %w", w, err)
		}
	}
	return ns, nil
}

// slot reads what there is of a worker id.
func (r record) slot(w int, s *Slot) error {
	if w < len(r.Leases) && r.Leases[w] != nil {
		s.HasLease, s.Expires = true, *r.Leases[w]
	}
	if w < len(r.Marks) && r.Marks[w] != nil {
		s.HasMark, s.Mark = true, *r.Marks[w]
	}
	if w < len(r.Owners) && r.Owners[w] != nil {
		o := r.Owners[w]
		if n, err := hex.Decode(s.Owner[:], []byte(o.Owner[:min(len(o.Owner), 32)])); err != nil || len(o.Owner) != 2*n || n != 0 && n != 16 {
			return fmt.Errorf("owner %q is not 32 hexadecimal digits", printable.Text(o.Owner))
		}
		s.Holder, s.Token, s.Since, s.Floor = o.Holder, o.Token, o.Since, o.Floor
	}
	for _, n := range []int64{s.Expires, s.Mark, s.Token, s.Since, s.Floor} {
		if n < 0 || n >= limit {
			return fmt.Errorf("%d is not 0 to %d", n, int64(limit-1))
		}
	}
	return nil
}
