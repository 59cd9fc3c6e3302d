// Package mysqldsn parses DSNs of MySQL without showing passwords in errors.
package mysqldsn

import (
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/snowlease/snowlease/internal/dsn"
)

// Place returns the location of c's database, for people.
func Place(c *mysql.Config) string { return dsn.Place(c.Addr, c.DBName) }

// Parse parses a DSN in the form of github.com/go-sql-driver/mysql. Its error includes no part of
// the DSN.
func Parse(text string) (*mysql.Config, error) {
	c, err := mysql.ParseDSN(text)
	if err != nil || strings.Contains(c.Net, ":") {
		// The driver's error may include a part of the password. So may the network, if
		// the "@" is missing.
		return nil, errors.New("it cannot be parsed, or names a tls configuration that is not registered")
	}
	return c, nil
}
