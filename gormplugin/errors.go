package gormplugin

import "errors"

// ErrKey is the error of a statement whose zero primary key cannot be filled: the key is too
// small for an id or has an unknown type, its tag is wrong, its Scan refused the value, or it
// is a Model's key and no plugin fills it. A text key in a numeric column that is not a number
// is an ErrKey too. The statement sent nothing to the database. Test for it with errors.Is.
var ErrKey = errors.New("gormplugin: primary key cannot be filled")
