package gormdb

import (
	"testing"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

// dialector is an application's own dialector.
type dialector struct {
	gorm.Dialector
	DSN any
}

func TestDSNOfDialectors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialector gorm.Dialector
		want      string
	}{
		{nil, "shows no DSN"},
		{dialector{}, "shows no DSN"},
		{dialector{DSN: "x"}, "shows no DSN"},
		{mysql.Dialector{}, "shows no DSN"},
		{&mysql.Dialector{Config: &mysql.Config{}}, "shows no DSN"},
		{&postgres.Dialector{Config: &postgres.Config{DSN: "host=h", OptionOpenDB: []stdlib.OptionOpenDB{nil}}}, "OptionOpenDB"},
		{&mysql.Dialector{Config: &mysql.Config{DSN: "x", Conn: connPool{}}}, "on a connection"},
	} {
		dsn, why := dsnOf(c.dialector)
		require.Empty(t, dsn)
		require.Contains(t, why, c.want)
	}
}

type connPool struct{ gorm.ConnPool }
