package dsn

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// File returns err without a path that is really a key, given in place of its path by mistake.
func File(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) && isKey(e.Path) {
		return fmt.Errorf("the path looks as if it were the file itself: %w", e.Err)
	}
	return err
}

// isKey reports whether a path is PEM, or base64 of at least the 64 bytes of the shortest private
// key.
func isKey(path string) bool {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
	return strings.ContainsAny(path, "\r\n") || strings.Contains(path, "-----") || len(path) > 400 ||
		len(path) >= 60 && path[0] != '/' && strings.Trim(path, digits) == ""
}
