package memcenter

import (
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// NewRequest returns a request for any worker id of the layout in namespace, with the defaults: TTL and
// MaxTTL 30 s, Skew 2 s, and a pool of all workers of the layout.
func NewRequest(namespace string, l snowflake.Layout) lease.Request {
	return lease.Request{
		Namespace: namespace, Layout: l.String(), Pool: l.Workers(), Last: l.Workers() - 1,
		TTL: lease.DefaultTTL, MaxTTL: lease.DefaultTTL, Skew: lease.DefaultSkew,
	}
}
