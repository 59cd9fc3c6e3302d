// Package mysql is the driver of package providers/mysql.
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"

	"github.com/snowlease/snowlease/internal/dsn"
	"github.com/snowlease/snowlease/providers/internal/sqlopen"
)

// Driver returns the driver named mysql. The server must answer within the connect timeout when
// the database is opened, not only at the start, because GORM queries its version.
func Driver() sqlopen.Driver {
	return sqlopen.Driver{
		Name: "mysql",
		Form: "user:password@tcp(host:3306)/name",
		Hint: "that the server runs and is reachable at this address, and user, password, database name and tls in db.dsn",
		Open: open,
	}
}

func open(ctx context.Context, text string, connect time.Duration) (sqlopen.Target, error) {
	c, err := driver.ParseDSN(text)
	if err != nil || strings.Contains(c.Net, ":") {
		// The driver's error may include a part of the password. So may the network, if the "@" is
		// missing.
		return sqlopen.Target{}, errors.New("it cannot be parsed, or names a tls configuration that is not registered")
	}
	if c.AllowAllFiles || c.AllowCleartextPasswords || c.AllowOldPasswords {
		return sqlopen.Target{}, errors.New("it has allowAllFiles, allowCleartextPasswords or allowOldPasswords, by which the server gets files or the password: remove it, or open the database in your code")
	}
	if c.Timeout == 0 {
		c.Timeout = connect
	}
	if _, query, _ := strings.Cut(text[strings.LastIndexByte(text, '/')+1:], "?"); !strings.Contains(query, "parseTime=") {
		c.ParseTime = true
	}
	t := sqlopen.Target{Address: dsn.Place(c.Addr, c.DBName)}
	probe, err := sql.Open("mysql", c.FormatDSN())
	if err != nil {
		return sqlopen.Target{}, errors.New("it cannot be parsed")
	}
	// GORM's query for the version has no timeout.
	t.Err = errors.Join(probe.PingContext(ctx), probe.Close())
	t.Dialector = mysql.Open(c.FormatDSN())
	return t, nil
}
