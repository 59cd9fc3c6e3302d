// Package mysql opens MySQL or MariaDB from configuration and links no other SQL driver.
// See package sqldb for its use, and package providers for all drivers at once.
//
// A DSN has the form of github.com/go-sql-driver/mysql:
//
//	user:password@tcp(host:3306)/name?tls=true
//
// parseTime defaults to true, since time.Time fields of models need it. allowAllFiles,
// allowCleartextPasswords and allowOldPasswords are refused: whoever can write the configuration
// could name a server that asks for files of the host.
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"go.uber.org/fx"
	"gorm.io/driver/mysql"

	"github.com/snowlease/snowlease/internal/dsn/mysqldsn"
	"github.com/snowlease/snowlease/providers/sqldb"
)

// Module provides a *gorm.DB on MySQL or MariaDB from a sqldb.Config.
var Module = fx.Module("mysql", fx.Provide(sqldb.New(Driver())))

// Driver returns the driver named mysql, for sqldb.New and sqldb.Open. The server must
// answer within the connect timeout when the database is opened, not only at the start,
// since GORM asks it for its version.
func Driver() sqldb.Driver {
	return sqldb.Driver{
		Name: "mysql",
		Form: "user:password@tcp(host:3306)/name",
		Hint: "that the server runs and is reachable at this address, and user, password, database name and tls in db.dsn",
		Open: open,
	}
}

func open(ctx context.Context, dsn string, connect time.Duration) (sqldb.Target, error) {
	c, err := mysqldsn.Parse(dsn)
	if err != nil {
		return sqldb.Target{}, err
	}
	if c.AllowAllFiles || c.AllowCleartextPasswords || c.AllowOldPasswords {
		return sqldb.Target{}, errors.New("it has allowAllFiles, allowCleartextPasswords or allowOldPasswords, by which the server gets files or the password: remove it, or open the database in your code")
	}
	if c.Timeout == 0 {
		c.Timeout = connect
	}
	if _, query, _ := strings.Cut(dsn[strings.LastIndexByte(dsn, '/')+1:], "?"); !strings.Contains(query, "parseTime=") {
		c.ParseTime = true
	}
	t := sqldb.Target{Address: mysqldsn.Place(c)}
	probe, err := sql.Open("mysql", c.FormatDSN())
	if err != nil {
		return sqldb.Target{}, errors.New("it cannot be parsed")
	}
	// GORM's question for the version has no timeout.
	t.Err = errors.Join(probe.PingContext(ctx), probe.Close())
	t.Dialector = mysql.Open(c.FormatDSN())
	return t, nil
}
