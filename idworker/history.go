package idworker

import (
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/numbers/history"
)

// clockFault is how far the clocks of two hosts with worker ids may differ: each may differ from
// its center's clock by lease.MaxClockError, 5 minutes.
const clockFault = 10 * time.Minute

var errNoPast = errors.New("snowlease: no backdated ids")

// History returns an issuer of backdated ids, for a worker of Open with the same cfg. With fx,
// Module and Named provide it. Its ids carry one of the cfg.Reserved highest worker ids, which
// are never leased. They are unique across processes and restarts, because the database counts
// them.
//
// The issuer works from the worker's first lease, even if the worker loses that later, until the
// worker stops, for times up to the end of its last lease. If the center is not a database, or the
// range of worker ids leaves out the reserved ones, History returns an error that names the setting.
//
// The first start of a worker with Reserved records the time from which the database counts.
// Times must be at least some minutes after the namespace's first such start; older rows need
// Backfill. Package history describes which times are safe.
func History(cfg Config, w *IdWorker) (*history.Issuer, error) {
	p, err := cfg.plan()
	if err != nil {
		return nil, err
	}
	return p.history(w)
}

func (p plan) history(w *IdWorker) (*history.Issuer, error) {
	why, top := "", p.layout.Workers()-1
	switch c := w.Center(); {
	case p.Reserved == 0:
		why = "reserved is 0: use mode db and set it to the number of worker ids to keep for them, 1 or more"
	case past(c) == nil:
		why = w.Status().Center + " cannot count them in a SQL database: set mode db, or give the center the Extras.Base of a center of dbseq; if you need none, leave reserved out"
	case !p.hasReserved:
		why = fmt.Sprintf("workers %q leaves out the reserved worker ids, %d to %d, which another database may use: if this database counts them, let the range end at %d",
			p.Workers, p.layout.Workers()-p.Reserved, top, top)
	}
	if why != "" {
		return nil, fmt.Errorf("%w: %s", errNoPast, why)
	}
	i, err := history.New(w, past(w.Center()), history.Config{Ahead: p.Lease.MaxTTL + p.Store.Skew + clockFault})
	if err != nil {
		return nil, fmt.Errorf("snowlease: %w", err)
	}
	return i, nil
}

// past returns the store of a center that counts backdated ids, or nil.
func past(c lease.Center) numbers.Store {
	if c == nil {
		return nil
	}
	if base, ok := c.Extras().Base.(*dbseq.Center); ok {
		return base.Numbers()
	}
	return nil
}
