// Package pgdsn parses DSNs of PostgreSQL without showing passwords in errors.
package pgdsn

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/snowlease/snowlease/internal/dsn"
)

// Parse parses a DSN in a form of github.com/jackc/pgx. Its error includes no part of the DSN
// except the name of a file.
func Parse(text string) (*pgx.ConnConfig, error) {
	if IsURL(text) && dsn.AtAfterHost(text) {
		return nil, errors.New(`an "@" follows the host; percent-encode the reserved characters of user and password`)
	}
	if !IsURL(text) && strings.HasSuffix(text, `\`) {
		return nil, errors.New("it ends with a backslash") // pgx would panic
	}
	c, err := pgx.ParseConfig(text)
	if err != nil {
		if file := new(fs.PathError); errors.As(err, &file) {
			return nil, fmt.Errorf("it names a file that cannot be read: %w", dsn.File(file))
		}
		// pgx's error may include a part of the password.
		return nil, errors.New("it cannot be parsed")
	}
	return c, nil
}

// Place returns the location of c's database, for people.
func Place(c *pgx.ConnConfig) string {
	host := fmt.Sprintf("%s:%d", c.Host, c.Port)
	if strings.Contains(c.Host, ":") { // IPv6
		host = fmt.Sprintf("[%s]:%d", c.Host, c.Port)
	}
	return dsn.Place(host, c.Database)
}

// IsURL reports whether a DSN is a URL, not key-value pairs.
func IsURL(dsn string) bool {
	return strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
}
