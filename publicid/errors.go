package publicid

import (
	"errors"
	"fmt"
)

// Errors of encoding. Test for them with errors.Is.
var (
	// ErrCodec is returned if there is no Codec: a nil one, one that no constructor made,
	// or an ID whose kind returns one of these or is a pointer or an interface.
	ErrCodec = errors.New("publicid: no codec: make one with New or NewSealed, and let the method Codec of the kind return it")
	// ErrID is returned for a number that is not positive. It has no text.
	ErrID = errors.New("publicid: an id is positive")
)

// A ParseError says why a text is no id of its kind. A server usually answers it with the
// status 404 for a path, or 400 for a body.
type ParseError struct {
	Prefix string // what the text should begin with, without "_"
	Text   string // the text, cut off after 40 bytes
	Reason string // what is wrong with it, for people

	size int // of the whole text
}

func (e *ParseError) Error() string {
	if e.size > len(e.Text) {
		return fmt.Sprintf("publicid: %q... (%d bytes) is not an id of kind %s: %s", e.Text, e.size, e.Prefix, e.Reason)
	}
	return fmt.Sprintf("publicid: %q is not an id of kind %s: %s", e.Text, e.Prefix, e.Reason)
}
