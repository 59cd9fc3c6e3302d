// Package mysql opens MySQL or MariaDB from configuration and links no other SQL driver. Package
// providers links all drivers.
//
// A DSN has the form of github.com/go-sql-driver/mysql:
//
//	user:password@tcp(host:3306)/name?tls=true
//
// parseTime defaults to true, because time.Time fields of models need it. allowAllFiles,
// allowCleartextPasswords and allowOldPasswords are refused, because anybody who can write the
// configuration could name a server that reads files of the host.
package mysql

import (
	"go.uber.org/fx"

	"github.com/snowlease/snowlease/providers/internal/mysql"
	"github.com/snowlease/snowlease/providers/internal/sqlopen"
)

// Module provides a *gorm.DB on MySQL or MariaDB from a sqldb.Config.
var Module = fx.Module("mysql", fx.Provide(sqlopen.New(mysql.Driver())))
