package main

import (
	"context"
	"errors"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/proof/internal/fleet"
)

// observed is a center that reports its replies before the process acts on them.
type observed struct {
	lease.Center
	*reporter
	forget bool
}

// Acquire reports the grant, or that no worker id was free.
func (o observed) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	g, err := o.Center.Acquire(ctx, req)
	full := (*lease.NoFreeWorkerError)(nil)
	switch {
	case err == nil:
		o.tell(granted(fleet.Lent, g))
	case errors.As(err, &full):
		o.tell(fleet.Report{Event: fleet.Full, Now: full.Now.UnixMilli(), Soonest: full.Soonest.UnixMilli()})
	}
	return g, err
}

// Renew reports the grant.
func (o observed) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	renewed, err := o.Center.Renew(ctx, g)
	if err == nil {
		o.tell(granted(fleet.Renewed, renewed))
	}
	return renewed, err
}

// Release reports the last use.
func (o observed) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	report := granted(fleet.Returned, g)
	report.LastUsed = lastUsed
	o.tell(report)
	if o.forget {
		lastUsed = g.Floor
	}
	return o.Center.Release(ctx, g, lastUsed)
}

func granted(event fleet.Event, g lease.Grant) fleet.Report {
	return fleet.Report{Event: event, Worker: g.Worker, Token: g.Token, Now: g.Now, Floor: g.Floor, Ceiling: g.Ceiling}
}
