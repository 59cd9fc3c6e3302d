package publicid

import (
	"errors"
	"fmt"
)

// Errors of encoding. Test for them with errors.Is.
var (
	// ErrCodec is returned for a Codec that is nil or that no constructor made, and for an ID
	// whose kind returns such a Codec or is a pointer or an interface.
	ErrCodec = errors.New("publicid: no codec: make one with New or NewSealed, and let the method Codec of the kind return it")
	// ErrID is returned for a number that is not positive. Such a number has no public id.
	ErrID = errors.New("publicid: an id is positive")
)

// A ParseError reports why a string is not a public id of its kind. A server usually responds
// with the status 404 for a path, or 400 for a body.
type ParseError struct {
	Prefix string // the expected prefix, without "_"
	Text   string // the string, cut off after 40 bytes
	Reason string // the reason, for people

	size int // of the whole text
}

func (e *ParseError) Error() string {
	if e.size > len(e.Text) {
		return fmt.Sprintf("publicid: %q... (%d bytes) is not an id of kind %s: %s", e.Text, e.size, e.Prefix, e.Reason)
	}
	return fmt.Sprintf("publicid: %q is not an id of kind %s: %s", e.Text, e.Prefix, e.Reason)
}
