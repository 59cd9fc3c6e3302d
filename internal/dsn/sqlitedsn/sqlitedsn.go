// Package sqlitedsn looks at DSNs of SQLite.
package sqlitedsn

import (
	"regexp"
	"strings"
)

// setting matches a password where a path has none, such as after a "&" in place of the "?".
var setting = regexp.MustCompile(`(?i)(pass\w*|pwd|key|_pragma)=`)

// IsPath reports whether a DSN can name a file. It is false for DSNs of other databases,
// since SQLite would create a file with the password in its name, and for variables that
// nobody replaced, such as ${DB_DSN}.
func IsPath(dsn string) bool {
	path, _, _ := strings.Cut(strings.TrimPrefix(dsn, "file:"), "?")
	_, login, _ := strings.Cut(strings.TrimPrefix(dsn, "file:"), ":") // a "?" may be part of the password
	return !strings.Contains(path, "://") && !strings.Contains(login, "@") && !setting.MatchString(path) && !strings.Contains(path, "${")
}
