package dsn

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// File returns err without a path that is none: the text of a key, given in its place by mistake.
func File(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) && strings.ContainsAny(e.Path, "\r\n") {
		return fmt.Errorf("the path has line breaks, as if it were the file itself: %w", e.Err)
	}
	return err
}
