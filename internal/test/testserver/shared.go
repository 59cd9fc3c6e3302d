package testserver

import (
	"context"
	"crypto/rand"
	"database/sql"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/snowlease/snowlease/internal/test/limit"
)

// sharedDSN returns the DSN in the variable or, if it is empty, that of the shared server.
func sharedDSN(t testing.TB, e *engine, variable string, server func() (*Server, error)) string {
	t.Helper()
	only(t, e)
	if dsn := os.Getenv(variable); dsn != "" {
		_ = limit.Context(t) // the test has its limit, though its server goes on
		return dsn
	}
	need(t, e, variable)
	s, err := server()
	if err != nil {
		t.Fatal(err)
	}
	limit.Watch(t, s)
	s.describe(t)
	return s.DSN()
}

// fresh creates a database for the test and drops it when the test ends.
func fresh(t testing.TB, open func() (*sql.DB, error), create, drop string) {
	t.Helper()
	exec := func(statement string) error {
		db, err := open()
		if err != nil {
			return err
		}
		defer db.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err = db.ExecContext(ctx, statement)
		return err
	}
	if err := exec(create); err != nil {
		t.Fatalf("testserver: %s: %v", create, err)
	}
	t.Cleanup(func() {
		if err := exec(drop); err != nil {
			t.Errorf("testserver: %s: %v", drop, err)
		}
	})
}

// freshName returns a unique name, since others may use the same server.
func freshName() string { return "snowlease_test_" + strings.ToLower(rand.Text()[:12]) }
