package etcdseq_test

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/stats"
)

// counter counts the calls that are sent.
type counter struct{ calls *atomic.Int64 }

func (c counter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }
func (counter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (counter) HandleConn(context.Context, stats.ConnStats)                       {}

func (c counter) HandleRPC(_ context.Context, s stats.RPCStats) {
	if _, ok := s.(*stats.OutHeader); ok {
		c.calls.Add(1)
	}
}
