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

// Told returns err with its text computed once and printable, or nil. A status is read often, and
// the text may take long.
func Told(err error) error {
	if err == nil {
		return nil
	}
	return &told{err, printable.Error(err, strings.Clone)}
}
