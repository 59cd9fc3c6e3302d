package gormplugin

import "errors"

// ErrKey is the error of a statement whose zero primary key cannot be filled: the key is
// too small for an id or has an unknown type, its tag is wrong, or it refused a value.
// Nothing was sent to the database. Test for it with errors.Is.
var ErrKey = errors.New("gormplugin: primary key cannot be filled")
