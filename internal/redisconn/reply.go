package redisconn

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

// A Reply is the reply of a script: a verdict and its values.
type Reply []string

func parse(value any) (Reply, error) {
	list, ok := value.([]any)
	r := make(Reply, len(list))
	for i := 0; ok && i < len(list); i++ {
		r[i], ok = list[i].(string)
	}
	if !ok || len(r) == 0 {
		return nil, fmt.Errorf("the script's reply %.200q is not a list of strings: check for a proxy that does not support scripts", fmt.Sprint(value))
	}
	return r, nil
}

// Answer returns the error of package lease that corresponds to the reply, or nil.
func (r Reply) Answer(req lease.Request, pin lease.Pin) error {
	var now, until int64
	switch {
	case r[0] == "QUARANTINE" && len(r) == 4 && r[:3].Ints(&now, &until) == nil:
		return &lease.QuarantineError{Namespace: req.Namespace, Reason: printable.Text(r[3]), Now: ms(now), Until: ms(until)}
	case r[0] == "MISMATCH" && len(r) == 2:
		return &lease.MismatchError{Namespace: req.Namespace, Stored: lease.ParsePin(r[1]), Asked: pin}
	case r[0] == "CLOCK" && r.Ints(&now) == nil:
		return &lease.ClockError{Namespace: req.Namespace, Center: ms(now), Local: ms(req.CallerTime)}
	}
	return nil
}

// fault returns the error for a reply that is neither OK nor an answer.
func (r Reply) fault() error {
	switch {
	case r[0] == "NORUNID":
		return ErrRunID
	case r[0] == "VERSION" && len(r) == 2:
		return fmt.Errorf("%w: it is %s", ErrVersion, printable.Text(r[1]))
	}
	return r.Unknown()
}

// Unknown returns the error for a reply that no script sends.
func (r Reply) Unknown() error {
	return fmt.Errorf("the script's reply %q is unknown", printable.Text(strings.Join(r, " ")))
}

// Ints parses all values after the verdict.
func (r Reply) Ints(to ...*int64) error {
	if len(r) != len(to)+1 {
		return r.Unknown()
	}
	for i, p := range to {
		n, err := strconv.ParseInt(r[i+1], 10, 64)
		if err != nil {
			return r.Unknown()
		}
		*p = n
	}
	return nil
}

func ms(t int64) time.Time { return time.UnixMilli(t) }
