// Package sqlitedsn inspects DSNs of SQLite.
package sqlitedsn

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/snowlease/snowlease/internal/dsn"
)

// setting matches a password inside a path, such as after a "&" instead of the "?".
var setting = regexp.MustCompile(`(?i)(pass\w*|pwd|key|_pragma)=`)

// IsPath reports whether a DSN can name a file. It is false for DSNs of other databases, since
// SQLite would create a file with the password in its name. It is also false for variables that
// were not replaced, such as ${DB_DSN}, and for paths with control characters.
func IsPath(text string) bool {
	text, isURI := strings.CutPrefix(text, "file:")
	path, _, _ := strings.Cut(text, "?")
	_, login, _ := strings.Cut(text, ":") // a "?" may be part of the password
	if plain, err := url.PathUnescape(path); isURI && err == nil {
		path = plain
	}
	return dsn.Plain(path) == nil && !strings.Contains(path, "://") && !strings.Contains(login, "@") && !setting.MatchString(path) && !strings.Contains(path, "${")
}

// InMemory reports whether a DSN names a database in memory. A second connection would see another
// database, or none.
func InMemory(text string) bool {
	path, query, _ := strings.Cut(strings.TrimPrefix(text, "file:"), "?")
	return path == "" || strings.Contains(path, ":memory:") || strings.Contains(query, "mode=memory") || strings.Contains(query, "vfs=memdb")
}

// Absolute returns dsn with an absolute path, so that a later os.Chdir does not lead to another
// file. It does not change the DSN of a database in memory or of another VFS.
func Absolute(dsn string) string {
	whole, query, _ := strings.Cut(dsn, "?")
	path, isURI := strings.CutPrefix(whole, "file:")
	if InMemory(dsn) || filepath.IsAbs(path) || strings.HasPrefix(path, "/") || strings.Contains(query, "vfs=") || isURI && filepath.Separator != '/' {
		return dsn
	}
	folder, err := filepath.Abs(".")
	if err != nil || !isURI && strings.Contains(folder, "?") { // the drivers would cut the folder at "?"
		return dsn
	}
	if isURI {
		folder = "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(folder)
	}
	// filepath.Join is unsuitable, since "link/../app.db" may not be "app.db".
	return folder + string(filepath.Separator) + strings.TrimPrefix(dsn, "file:")
}
