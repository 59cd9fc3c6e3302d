package sqlopen_test

import (
	"context"
	"fmt"

	"github.com/snowlease/snowlease/providers/internal/mysql"
	"github.com/snowlease/snowlease/providers/internal/sqlite"
	"github.com/snowlease/snowlease/providers/internal/sqlopen"
	"github.com/snowlease/snowlease/providers/sqldb"
)

// Open is for applications without fx. This program links two drivers.
func ExampleOpen() {
	ctx := context.Background()
	db, err := sqlopen.Open(ctx, sqldb.Config{Driver: "sqlite", DSN: ":memory:"}, nil, mysql.Driver(), sqlite.Driver())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sqlopen.Close(db)
	fmt.Println(db.Name())

	_, err = sqlopen.Open(ctx, sqldb.Config{Driver: "postgres", DSN: "host=db dbname=orders"}, nil, mysql.Driver(), sqlite.Driver())
	fmt.Println(err)
	// Output:
	// sqlite
	// providers: db.driver "postgres" is not linked into this program: set one of: mysql, sqlite
}
