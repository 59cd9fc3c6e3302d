package controls

import (
	"context"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowlease/snowlease/lease"
)

// ticket inserts a row at each start. The worker id is the row's auto-increment key
// mod N, and the row is deleted when the process stops. Nothing expires or is renewed,
// and nothing shows whether another live row has the same remainder.
type ticket struct {
	open
	db    *gorm.DB
	clock Clock
}

func newTicket(b Backend, c Clock) lease.Center {
	return &ticket{db: b.DB.Session(&gorm.Session{NewDB: true, SkipDefaultTransaction: true, Logger: logger.Discard}), clock: c}
}

type ticketRow struct {
	ID   int64
	Host string
}

// TableName names the table for GORM.
func (ticketRow) TableName() string { return "controls_ticket" }

// Extras returns the name of the scheme.
func (t *ticket) Extras() lease.Extras { return lease.Extras{Name: "auto-increment mod N"} }

// Acquire inserts a row.
func (t *ticket) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	if err := req.Validate(); err != nil {
		return lease.Grant{}, err
	}
	db := t.db.WithContext(ctx)
	id := "BIGINT AUTO_INCREMENT PRIMARY KEY"
	switch db.Name() {
	case "postgres":
		id = "BIGSERIAL PRIMARY KEY"
	case "sqlite":
		id = "INTEGER PRIMARY KEY AUTOINCREMENT"
	}
	// If several processes create it at once, all but one may fail, and the INSERT
	// succeeds. If the table is missing, the INSERT says so.
	_ = db.Exec("CREATE TABLE IF NOT EXISTS controls_ticket (id " + id + ", host VARCHAR(255) NOT NULL)").Error
	row := ticketRow{Host: req.Holder}
	if err := db.Create(&row).Error; err != nil {
		return lease.Grant{}, err
	}
	return t.clock.grant(req, mod(row.ID, req), row.ID), nil
}

// Renew does nothing.
func (t *ticket) Renew(_ context.Context, g lease.Grant) (lease.Grant, error) {
	return t.clock.again(g), nil
}

// Release deletes the row.
func (t *ticket) Release(ctx context.Context, g lease.Grant, _ int64) error {
	return t.db.WithContext(ctx).Delete(&ticketRow{}, g.Token).Error
}
