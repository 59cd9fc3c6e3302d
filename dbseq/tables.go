package dbseq

import (
	"context"
	"embed"

	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/internal/sqlconn"
	"github.com/snowlease/snowlease/lease"
)

//go:embed sql/*.sql schema/*.sql
var files embed.FS

var tables = sqlconn.Tables{
	Files:   files,
	Schema:  "dbseq/schema",
	Names:   []string{"slot", "ticket", "meta"},
	Rights:  "SELECT, INSERT and UPDATE on the tables snowlease_slot and snowlease_meta, and SELECT, INSERT and DELETE on snowlease_ticket",
	Damaged: "correct its row or delete it; later grants lie above everything that it may have held",
}

// prepare makes the store ready for a request. It refuses a server with a wrong clock or an
// unreadable incarnation before it writes anything, and creates the tables if necessary.
func (s *store) prepare(ctx context.Context, req lease.Request) error {
	if s.ready.Load() {
		return nil
	}
	if !s.Own { // nothing moved a connection yet
		if err := s.beside.Settle(ctx); err != nil {
			return err
		}
	}
	now, err := s.Now(ctx, nil)
	if err != nil {
		return err
	}
	if err := rules.ClockVeto(now, req); err != nil {
		return err
	}
	if _, err := s.Identify(ctx); err != nil {
		return err
	}
	if err := s.Create(ctx); err != nil {
		return err
	}
	s.ready.Store(true)
	return nil
}
