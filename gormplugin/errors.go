package gormplugin

import "errors"

// ErrKey is returned by a statement whose zero primary keys cannot be filled: the
// key is too small for an id or of an unknown type, its tag is wrong, or a value
// was refused. Nothing was sent to the database. Test for it with errors.Is.
var ErrKey = errors.New("gormplugin: primary key cannot be filled")
