package lease

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
)

// A Pin is what a namespace has on record about its members. Centers store and compare its
// String. Two Pins are equal (==) if and only if their strings are.
type Pin struct {
	Layout       string // the fingerprint of the layout
	Pool         int64
	MaxTTL, Skew time.Duration // the greatest of any member, which a loss of records allows for
	Change       PinChange     // of MaxTTL and Skew

	// Retired means that the namespace has ended, for the given Reason. The other fields
	// are then zero. No Request has such a Pin.
	Retired bool
	Reason  string

	foreign string // the text, if it has neither form
}

// A PinChange is a change of a Pin that has begun. The zero value is none.
//
// If the Pin was raised, grants keep to the former MaxTTL until At: a replica that lags by less
// than what a grant could last, or the records that are left after a loss of some, then still
// allow for all grants. If it is to fall, it does so at At, unless a member with greater values
// uses the namespace before that. By then no grant of such a member is left.
type PinChange struct {
	Falls        bool
	MaxTTL, Skew time.Duration // of the Pin before it was raised, or after it has fallen
	// At is in Unix milliseconds of the center's clock. It is not decided yet at 0 and below. Then it
	// tells this change from an earlier one to the same values.
	At int64
}

const retired = "retired: "

var pinForm = regexp.MustCompile(`^layout=\{(.*)\} pool=(\d+) max_ttl=(\S+) skew=(\S+)(?: (raised_from|falls_to)=([^\s/]+)/(\S+) at=(-?\d+))?$`)

const maxPin = 1024 // bytes, several times the length of a pin

// ParsePin returns the Pin whose String is text. If text is not the pin of a valid Request,
// the Pin keeps it and its Err is not nil. A text of more than 1024 bytes is not valid, and
// only its first 1025 bytes are kept.
func ParsePin(text string) Pin {
	if len(text) > maxPin {
		return Pin{foreign: strings.Clone(text[:maxPin+1])}
	}
	if m := pinForm.FindStringSubmatch(text); m != nil {
		p := Pin{Layout: m[1], Change: PinChange{Falls: m[5] == "falls_to"}}
		for to, from := range map[*time.Duration]string{&p.MaxTTL: m[3], &p.Skew: m[4], &p.Change.MaxTTL: m[6], &p.Change.Skew: m[7]} {
			*to, _ = time.ParseDuration(from) // what is not valid has another String
		}
		p.Pool, _ = strconv.ParseInt(m[2], 10, 64)
		p.Change.At, _ = strconv.ParseInt(cmp.Or(m[8], "0"), 10, 64)
		if p.valid() && p.String() == text {
			return p
		}
	}
	if reason, ok := strings.CutPrefix(text, retired); ok {
		return Pin{Retired: true, Reason: reason}
	}
	return Pin{foreign: text}
}

// valid reports whether members can have such a pin. Who begins a quarantine goes by its numbers.
func (p Pin) valid() bool {
	c := p.Change
	return Request{Namespace: "any", Owner: [16]byte{1}, Layout: p.Layout, Pool: p.Pool, TTL: p.MaxTTL, MaxTTL: p.MaxTTL, Skew: p.Skew}.Validate() == nil &&
		(c == PinChange{} || c.MaxTTL > 0 && c.MaxTTL <= p.MaxTTL && c.Skew >= 0 && c.Skew <= p.Skew)
}

// Join returns p as it is once a member with r has joined the namespace. It returns false if r
// may not, because its layout or pool is another one. A member with a greater MaxTTL or Skew
// raises them, or keeps them from falling below its own.
func (p Pin) Join(r Request) (Pin, bool) {
	if p.Err() != nil || p.Layout != r.Layout || p.Pool != r.Pool {
		return p, false
	}
	was, c := p, p.Change
	p.MaxTTL, p.Skew = max(p.MaxTTL, r.MaxTTL), max(p.Skew, r.Skew)
	switch least := (PinChange{Falls: true, MaxTTL: max(c.MaxTTL, r.MaxTTL), Skew: max(c.Skew, r.Skew), At: r.Owner.change()}); {
	case p != was && (c.Falls || c == PinChange{}):
		p.Change = PinChange{MaxTTL: was.MaxTTL, Skew: was.Skew, At: r.Owner.change()}
	case p != was:
		p.Change.At = r.Owner.change()
	case c.Falls && least.MaxTTL == p.MaxTTL && least.Skew == p.Skew:
		p.Change = PinChange{}
	case c.Falls && (least.MaxTTL > c.MaxTTL || least.Skew > c.Skew):
		p.Change = least
	}
	return p, true
}

// Used returns the MaxTTL that grants keep to, whatever that of their member is.
func (p Pin) Used() time.Duration { return cmp.Or(p.Change.MaxTTL, p.MaxTTL) }

// Hold returns how long after a loss of records a forgotten grant may last.
func (p Pin) Hold() time.Duration { return p.MaxTTL + p.Skew }

// String returns "layout={...} pool=32 max_ttl=30s skew=2s", with " raised_from=30s/2s at=0" or
// " falls_to=30s/2s at=0" while it changes, "retired: " and the reason, or the text that ParsePin
// could not parse. The text may come from another program: escape it before printing.
func (p Pin) String() string {
	switch {
	case p.Retired:
		return retired + p.Reason
	case p == Pin{foreign: p.foreign}:
		return p.foreign
	}
	text := fmt.Sprintf("layout={%s} pool=%d max_ttl=%v skew=%v", p.Layout, p.Pool, p.MaxTTL, p.Skew)
	if c := p.Change; c != (PinChange{}) {
		text += fmt.Sprintf(" %s=%v/%v at=%d", map[bool]string{true: "falls_to", false: "raised_from"}[c.Falls], c.MaxTTL, c.Skew, c.At)
	}
	return text
}

// Err returns an error if a namespace with p can have no members: it is retired, or p is not
// a valid pin. The error is safe to print.
func (p Pin) Err() error {
	switch {
	case p.Retired:
		return fmt.Errorf("lease: the namespace is %s", printable.Text(p.String()))
	case p == Pin{foreign: p.foreign}:
		return fmt.Errorf("lease: %q is not a valid pin: check whether another program wrote the record", printable.Text(p.foreign))
	}
	return nil
}
