package lease

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
)

// A Pin is what all members of a namespace must agree on. Centers store and compare its
// String. Two Pins are equal (==) if and only if their strings are.
type Pin struct {
	Layout       string // the fingerprint of the layout
	Pool         int64
	MaxTTL, Skew time.Duration

	// Retired means that the namespace has ended, for the given Reason. The other fields
	// are then zero. No Request has such a Pin.
	Retired bool
	Reason  string

	foreign string // the text, if it has neither form
}

const retired = "retired: "

var pinForm = regexp.MustCompile(`^layout=\{(.*)\} pool=(\d+) max_ttl=(\S+) skew=(\S+)$`)

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
		p := Pin{Layout: m[1], Pool: pool, MaxTTL: maxTTL, Skew: skew}
		// Who mends or quarantines goes by these numbers.
		valid := Request{Namespace: "any", Owner: [16]byte{1}, Layout: p.Layout, Pool: pool, TTL: maxTTL, MaxTTL: maxTTL, Skew: skew}.Validate() == nil
		if err1 == nil && err2 == nil && err3 == nil && valid && p.String() == text {
			return p
		}
	}
	if reason, ok := strings.CutPrefix(text, retired); ok {
		return Pin{Retired: true, Reason: reason}
	}
	return Pin{foreign: text}
}

// String returns "layout={...} pool=32 max_ttl=30s skew=2s", "retired: " and the reason, or
// the text that ParsePin could not parse. The text may come from another program: escape it
// before printing.
func (p Pin) String() string {
	switch {
	case p.Retired:
		return retired + p.Reason
	case p == Pin{foreign: p.foreign}:
		return p.foreign
	}
	return fmt.Sprintf("layout={%s} pool=%d max_ttl=%v skew=%v", p.Layout, p.Pool, p.MaxTTL, p.Skew)
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
