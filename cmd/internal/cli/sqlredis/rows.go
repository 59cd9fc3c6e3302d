package sqlredis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/internal/dsn"
)

// errNoNumbers: as texts, the newest ids are not the greatest.
var errNoNumbers = errors.New("it is no column of whole numbers: write the ids to a file, one a line, and give FILE in place of --table")

// number reports whether the first column of rows is a number, which in Go a decimal one is not.
func number(rows *sql.Rows, stored any) bool {
	switch stored.(type) {
	case int64, uint64:
		return true
	}
	types, err := rows.ColumnTypes()
	return err == nil && slices.Contains([]string{"DECIMAL", "NUMERIC"}, types[0].DatabaseTypeName())
}

// rows calls each with the ids of the newest rows of t, then with those of the oldest. The
// name is that of the store, for errors.
func (p place) rows(ctx context.Context, name string, t target.Table, each func(int64) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read column %s of table %s of %s: %w", t.Column, t.Name, name, dsn.Hide(err, name, string(p.DSN)))
		}
	}()
	quote := "`" // in SQLite, a name in double quotes may be a text
	if p.Driver == "pgx" {
		quote = `"`
	}
	column := quote + t.Column + quote
	table := quote + strings.ReplaceAll(t.Name, ".", quote+"."+quote) + quote
	pool, err := sql.Open(p.Driver, string(p.DSN))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	tx, err := pool.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()

	n, least := 0, int64(0)
	read := func(where, direction string) error {
		rows, err := tx.QueryContext(ctx, fmt.Sprintf("SELECT %[1]s FROM %[2]s WHERE %[1]s %[3]s ORDER BY %[1]s %[4]s LIMIT %[5]d", column, table, where, direction, t.Limit))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var stored any
			if err := rows.Scan(&stored); err != nil {
				return err
			}
			if !number(rows, stored) {
				return errNoNumbers
			}
			if err := rows.Scan(&least); err != nil {
				return err
			}
			if err := each(least); err != nil {
				return err
			}
			n++
		}
		return rows.Err()
	}
	if err := read("IS NOT NULL", "DESC"); err != nil || n < t.Limit {
		return err
	}
	return read(fmt.Sprintf("< %d", least), "ASC")
}
