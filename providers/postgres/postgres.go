// Package postgres opens PostgreSQL from configuration and links no other SQL driver. Package
// providers links all drivers.
//
// A DSN has one of the two forms of github.com/jackc/pgx, a URL or key-value pairs:
//
//	postgres://user:password@host:5432/name?sslmode=verify-full
//	host=host port=5432 user=user password=password dbname=name
package postgres

import (
	"go.uber.org/fx"

	"github.com/snowlease/snowlease/providers/internal/postgres"
	"github.com/snowlease/snowlease/providers/internal/sqlopen"
)

// Module provides a *gorm.DB on PostgreSQL from a sqldb.Config.
var Module = fx.Module("postgres", fx.Provide(sqlopen.New(postgres.Driver())))
