package etcdseq_test

import (
	"slices"
	"testing"
	"time"

	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// The leases of members.
const (
	ttl  = 2 * time.Second
	skew = 300 * time.Millisecond
)

var layout = snowflake.Layout{}.WithDefaults()

func request() lease.Request {
	r := memcenter.NewRequest("crew", layout)
	r.Owner, r.TTL, r.MaxTTL, r.Skew = lease.NewOwner(), ttl, ttl, skew
	return r
}

// followers returns the members that do not lead.
func followers(e *testserver.Etcd) []*testserver.Server {
	leader := e.Leader()
	return slices.DeleteFunc(slices.Clone(e.Nodes), func(s *testserver.Server) bool { return s == leader })
}
