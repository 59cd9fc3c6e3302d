package sqldb_test

import (
	"context"
	"fmt"

	"github.com/snowlease/snowlease/providers/mysql"
	"github.com/snowlease/snowlease/providers/sqldb"
	"github.com/snowlease/snowlease/providers/sqlite"
)

// Open is for applications without fx. This program links two drivers.
func ExampleOpen() {
	ctx := context.Background()
	db, err := sqldb.Open(ctx, sqldb.Config{Driver: "sqlite", DSN: ":memory:"}, nil, mysql.Driver(), sqlite.Driver())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sqldb.Close(db)
	fmt.Println(db.Name())

	_, err = sqldb.Open(ctx, sqldb.Config{Driver: "postgres", DSN: "host=db dbname=orders"}, nil, mysql.Driver(), sqlite.Driver())
	fmt.Println(err)
	// Output:
	// sqlite
	// providers: db.driver "postgres" is not linked into this program: set one of: mysql, sqlite
}
