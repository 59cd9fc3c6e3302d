package redisseq

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

// A reply of a script: a verdict and its values.
type reply []string

func parse(value any) (reply, error) {
	list, ok := value.([]any)
	r := make(reply, len(list))
	for i := 0; ok && i < len(list); i++ {
		r[i], ok = list[i].(string)
	}
	if !ok || len(r) == 0 {
		return nil, fmt.Errorf("the script's reply %.200q is not a list of strings: is there a proxy that does not know scripts?", fmt.Sprint(value))
	}
	return r, nil
}

// answer returns the error of package lease that a reply stands for, nil for others.
func (r reply) answer(req lease.Request) error {
	var now, until int64
	switch {
	case r[0] == "LOST":
		return lease.ErrLost
	case r[0] == "EXISTS":
		return lease.ErrExists
	case r[0] == "FULL" && r.ints(&now, &until) == nil:
		return &lease.NoFreeWorkerError{Namespace: req.Namespace, First: req.First, Last: req.Last, Now: ms(now), Soonest: ms(until)}
	case r[0] == "QUARANTINE" && len(r) == 4 && r[:3].ints(&now, &until) == nil:
		return &lease.QuarantineError{Namespace: req.Namespace, Reason: printable.Text(r[3]), Now: ms(now), Until: ms(until)}
	case r[0] == "MISMATCH" && len(r) == 2:
		return &lease.MismatchError{Namespace: req.Namespace, Stored: r[1], Asked: req.Pin()}
	case r[0] == "CLOCK" && r.ints(&now) == nil:
		return &lease.ClockError{Namespace: req.Namespace, Center: ms(now), Local: ms(req.Local)}
	}
	return nil
}

// fault returns what is wrong with a reply that is no answer, nil for OK.
func (r reply) fault() error {
	switch {
	case r[0] == "OK":
		return nil
	case r[0] == "NORUNID":
		return ErrRunID
	case r[0] == "VERSION" && len(r) == 2:
		return fmt.Errorf("%w: it is %s", ErrVersion, printable.Text(r[1]))
	}
	return r.unknown()
}

func (r reply) unknown() error {
	return fmt.Errorf("the script's reply %q is unknown", printable.Text(strings.Join(r, " ")))
}

// ints reads all values after the verdict.
func (r reply) ints(to ...*int64) error {
	if len(r) != len(to)+1 {
		return r.unknown()
	}
	for i, p := range to {
		n, err := strconv.ParseInt(r[i+1], 10, 64)
		if err != nil {
			return r.unknown()
		}
		*p = n
	}
	return nil
}

// slots reads the slots from a worker id on, and the size of the pool.
func (r reply) slots(from int64) (slots []lease.Slot, pool int64, err error) {
	var now int64
	const width = 5
	if len(r) < 3 || (len(r)-3)%width != 0 {
		return nil, 0, r.unknown()
	}
	if err := r[:3].ints(&now, &pool); err != nil {
		return nil, 0, err
	}
	for i := 3; i < len(r); i += width {
		s := lease.Slot{Worker: from + int64(len(slots)), Holder: r[i+4][:min(len(r[i+4]), lease.MaxHolder)], Now: now}
		if err := r[i-1:i+4].ints(&s.Expires, &s.Mark, &s.Token, &s.Since); err != nil {
			return nil, 0, err
		}
		if s.Expires < lease.MaxPool { // the order in which unused workers are lent
			s.Expires = 0
		}
		slots = append(slots, s)
	}
	return slots, pool, nil
}
