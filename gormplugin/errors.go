package gormplugin

import "errors"

// ErrKey is the error of a statement whose zero primary key cannot be filled: the key is
// too small for an id or has an unknown type, its tag is wrong, it refused a value, or it
// is that of a Model and no plugin fills it. It is also that of a key of text in a column
// of numbers. Nothing was sent to the database. Test for it with errors.Is.
var ErrKey = errors.New("gormplugin: primary key cannot be filled")
