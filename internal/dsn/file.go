package dsn

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// File returns err without a path that is none: the text of a key, given in its place by mistake.
func File(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) && isKey(e.Path) {
		return fmt.Errorf("the path looks as if it were the file itself: %w", e.Err)
	}
	return err
}

// isKey reports whether a path is rather PEM, or base64, which the shortest private key needs 64 bytes of.
func isKey(path string) bool {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
	return strings.ContainsAny(path, "\r\n") || strings.Contains(path, "-----") || len(path) > 400 ||
		len(path) >= 60 && path[0] != '/' && strings.Trim(path, digits) == ""
}
