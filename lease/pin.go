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
	TTL          time.Duration // the longest of any member

	// Retired means that the namespace has ended, for the given Reason. The other fields
	// are then zero. No Request has such a Pin.
	Retired bool
	Reason  string

	foreign string // the text, if it has neither form
}

const retired = "retired: "

var pinForm = regexp.MustCompile(`^layout=\{(.*)\} pool=(\d+) max_ttl=(\S+) skew=(\S+) ttl=(\S+)$`)

const maxPin = 1024 // bytes, several times the length of a pin

// ParsePin returns the Pin whose String is text. If text is not the pin of a valid Request,
// the Pin keeps it and its Err is not nil. A text of more than 1024 bytes is not valid, and
// only its first 1025 bytes are kept.
func ParsePin(text string) Pin {
	if len(text) > maxPin {
		return Pin{foreign: strings.Clone(text[:maxPin+1])}
	}
	if m := pinForm.FindStringSubmatch(text); m != nil {
		pool, err1 := strconv.ParseInt(m[2], 10, 64)
		maxTTL, err2 := time.ParseDuration(m[3])
		skew, err3 := time.ParseDuration(m[4])
		ttl, err4 := time.ParseDuration(m[5])
		p := Pin{Layout: m[1], Pool: pool, MaxTTL: maxTTL, Skew: skew, TTL: ttl}
		// Who begins a quarantine goes by these numbers.
		valid := Request{Namespace: "any", Owner: [16]byte{1}, Layout: p.Layout, Pool: pool, TTL: ttl, MaxTTL: maxTTL, Skew: skew}.Validate() == nil
		if cmp.Or(err1, err2, err3, err4) == nil && valid && p.String() == text {
			return p
		}
	}
	if reason, ok := strings.CutPrefix(text, retired); ok {
		return Pin{Retired: true, Reason: reason}
	}
	return Pin{foreign: text}
}

// Join returns p as it is once a member with r has joined the namespace. It returns false if r
// may not: if its layout or pool is another one, if its MaxTTL is below the longest TTL of
// others, for whose grants it would not allow after a loss of all records, or if its TTL is below
// twice the skew of others.
func (p Pin) Join(r Request) (Pin, bool) {
	if p.Err() != nil || p.Layout != r.Layout || p.Pool != r.Pool || r.MaxTTL < p.TTL || r.Skew < p.Skew && r.TTL < 2*p.Skew {
		return p, false
	}
	p.MaxTTL, p.Skew, p.TTL = max(p.MaxTTL, r.MaxTTL), max(p.Skew, r.Skew), max(p.TTL, r.TTL)
	return p, true
}

// Hold returns how long after a loss of records a forgotten grant may last.
func (p Pin) Hold() time.Duration { return p.MaxTTL + p.Skew }

// String returns "layout={...} pool=32 max_ttl=30s skew=2s ttl=30s", "retired: " and the reason, or
// the text that ParsePin could not parse. The text may come from another program: escape it
// before printing.
func (p Pin) String() string {
	switch {
	case p.Retired:
		return retired + p.Reason
	case p == Pin{foreign: p.foreign}:
		return p.foreign
	}
	return fmt.Sprintf("layout={%s} pool=%d max_ttl=%v skew=%v ttl=%v", p.Layout, p.Pool, p.MaxTTL, p.Skew, p.TTL)
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
