package fault

import (
	"strings"

	"github.com/snowlease/snowlease/internal/printable"
)

type told struct {
	error
	text string
}

func (t *told) Error() string { return t.text }
func (t *told) Unwrap() error { return t.error }

// Told returns err with a printable message that is computed only once, or nil. A status is read
// often, and computing the message may take long.
func Told(err error) error {
	if err == nil {
		return nil
	}
	return &told{err, printable.Error(err, strings.Clone)}
}
