package simulate

import (
	"context"
	"time"

	"github.com/snowlease/snowlease/internal/hostclock"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/numbers/series"
)

// daily issues from a series by day. The run begins at midnight, and the clock of each node is
// late by another second or two, so processes of both days meet. An id is the day and the number.
type daily struct {
	*series.Series
	late time.Duration
}

func (b *issuer) daily() (daily, error) {
	cfg := series.Config{Namespace: namespace, Name: namespace, Period: series.Day}
	s, err := series.New(b.database(), cfg)
	return daily{s, time.Duration(2*b.node.index+1) * time.Second}, err
}

func (d daily) open(ctx context.Context) error { return d.Start(ctx) }
func (daily) close()                           {}

func (d daily) NextIDs(ctx context.Context, dst []int64) error {
	numbers := make([]series.Number, len(dst))
	ctx = hostclock.With(ctx, func() time.Time { return time.Now().Add(-d.late) })
	if err := d.Fill(ctx, "", numbers); err != nil {
		return err
	}
	for i, n := range numbers {
		year, month, day := n.Period.Date()
		dst[i] = int64(year*10_000+int(month)*100+day)*10_000_000_000 + n.Value
	}
	return nil
}

// Given looks across the network, as a Series does if its process is behind the scope.
func (r remote) Given(ctx context.Context, name string) (int64, error) {
	return exchange(ctx, r.b.process, r.b.sql, "sql", func(ctx context.Context) (int64, error) {
		return r.Store.(numberstore.Reader).Given(ctx, name) //nolint:forcetypeassert // sqlsegments.Store is one
	})
}
