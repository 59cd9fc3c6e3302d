package snowlease_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/test/logtest"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wordy is a center with a warning.
type wordy struct{ lease.Center }

func (w wordy) Extras() lease.Extras {
	x := w.Center.Extras()
	x.Warnings = []string{"it is wordy"}
	return x
}

// bubble runs f at noon, when no clock but that of the test moves.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
		f(t)
	})
}

// Open needs a center and a namespace. A namespace that is new makes it wait, and no more.
func TestOpen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log logtest.Journal
		center := memcenter.New()
		began := time.Now()
		w, err := snowlease.Open(t.Context(), wordy{center}, snowlease.Config{
			Namespace: "orders", Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		require.NoError(t, err)
		// Also if the test fails, since a bubble cannot end before its goroutines.
		defer func() { _ = w.Close() }()
		require.Less(t, time.Since(began), 3*time.Second)
		require.Contains(t, log.String(), "it is wordy")
		require.Regexp(t, `msg="idworker started" worker=.* ids_ahead=29\.\d+s`, log.String(), "above all that a new namespace may have forgotten")
		first, err := w.NextID()
		require.NoError(t, err)
		ids := make([]int64, 3)
		require.NoError(t, w.NextIDs(t.Context(), ids))
		last, err := w.NextIDWait(t.Context())
		require.NoError(t, err)
		require.IsIncreasing(t, []int64{first, ids[0], ids[1], ids[2], last})

		st := w.Status()
		require.Equal(t, snowlease.StateReady, st.State)
		require.Equal(t, snowlease.Pool{Size: 32, Last: 31}, st.Pool)
		require.Equal(t, snowflake.Layout{}.WithDefaults().String(), st.Layout)
		require.Equal(t, wordy{center}, w.Center())
		holder := func() string {
			slots, err := w.Slots(t.Context())
			require.NoError(t, err)
			return slots[st.Worker].Holder
		}
		require.Equal(t, st.Holder, holder())
		require.NoError(t, w.Close())
		require.Empty(t, holder(), "given back")
		id, err := w.NextID()
		require.ErrorIs(t, err, snowlease.ErrClosed)
		require.Zero(t, id)
		require.ErrorIs(t, w.Healthy(), snowlease.ErrClosed)
	})
}

// After Init, the first start waits for nothing, and ids carry the time of the clock.
func TestInit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		center, cfg, began := memcenter.New(), snowlease.Config{Namespace: "orders"}, time.Now()
		require.NoError(t, snowlease.Init(t.Context(), center, cfg))
		w, err := snowlease.Open(t.Context(), center, cfg)
		require.NoError(t, err)
		defer func() { _ = w.Close() }()
		id, err := w.NextID()
		require.NoError(t, err)
		p, err := w.Decode(id)
		require.NoError(t, err)
		require.Equal(t, began, time.Now())
		require.WithinDuration(t, began, p.Time, time.Millisecond)

		require.ErrorIs(t, snowlease.Init(t.Context(), center, cfg), lease.ErrExists)
		require.ErrorContains(t, snowlease.Init(t.Context(), center, snowlease.Config{TTL: 1}), "Namespace is empty")
		require.ErrorIs(t, snowlease.Init(t.Context(), promising{center}, cfg), errors.ErrUnsupported)
		center.Advance(time.Hour)
		cfg.Namespace = "bills"
		require.ErrorAs(t, snowlease.Init(t.Context(), center, cfg), new(*lease.ClockError))
	})
}

// A worker of New issues ids from Start on, and may be started again after an error and after Close.
func TestStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		down := errors.New("connection refused")
		o := &observed{Center: memcenter.New(), err: down}
		w, err := snowlease.New(o, snowlease.Config{Namespace: "orders"})
		require.NoError(t, err)
		_, err = w.NextIDWait(t.Context())
		require.ErrorIs(t, err, snowlease.ErrNotStarted)
		require.Equal(t, "no worker id of orders, not_started", w.String())
		require.ErrorIs(t, w.Start(t.Context()), down)
		o.err = nil
		require.NoError(t, w.Start(t.Context()))
		defer func() { _ = w.Close() }()
		require.ErrorContains(t, w.Start(t.Context()), "it has started")
		id, err := w.NextID()
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.NoError(t, w.Start(t.Context()))
		again, err := w.NextID()
		require.NoError(t, err)
		require.Greater(t, again, id)
		worker := w.Status().Worker
		require.NoError(t, w.Reset(t.Context()))
		require.NotEqual(t, worker, w.Status().Worker)
	})
}

// observed keeps the last request.
type observed struct {
	lease.Center
	request lease.Request
	err     error
}

func (o *observed) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	if o.request = r; o.err != nil {
		return lease.Grant{}, o.err
	}
	return o.Center.Acquire(ctx, r)
}

// An open that fails leaves nothing behind; TestMain looks for goroutines. Its error says how
// long it waited for what.
func TestOpenFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		center := memcenter.New()
		_, err := snowlease.Open(t.Context(), center, snowlease.Config{Namespace: "orders", Wait: time.Second})
		require.ErrorAs(t, err, new(*lease.QuarantineError))
		require.ErrorContains(t, err, "raise Wait (1s) and the timeout of the start above that")
		require.NotContains(t, err.Error(), "ExactTimes")
		_, err = snowlease.Open(t.Context(), center, snowlease.Config{Namespace: "orders", ExactTimes: true})
		require.ErrorContains(t, err, "without ExactTimes it lends sooner")

		// Who is interrupted is told so in one line, and not to wait longer.
		center.Wipe()
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("terminated signal received")
		time.AfterFunc(time.Second, func() { cancel(gone) })
		_, err = snowlease.Open(ctx, center, snowlease.Config{Namespace: "orders"})
		require.ErrorIs(t, err, gone)
		require.Regexp(t, `^snowlease: borrow a worker id of namespace "orders" from memory \(tried for 1s\): stopped while waiting: terminated signal received; the last answer was: lease: .* earlier grants may still be in use$`, err.Error())
	})
}

// A start warns of a layout with few ids, and if the time field ends within five years. It fails within
// one.
func TestTimeFieldThatEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for bits, warns := range map[uint8]bool{12: false, 13: true} {
			var log logtest.Journal
			w, err := snowlease.Open(t.Context(), memcenter.New(), snowlease.Config{Namespace: "orders", Layout: snowflake.Layout{BusinessBits: bits}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			require.NoError(t, err)
			require.NoError(t, w.Close())
			require.Equal(t, warns, strings.Contains(log.String(), `level=WARN msg="the layout has few ids" hint="only 16 ids in 1ms for each worker id: set business bits to 12 and sequence bits to 5"`))
		}
		w, err := snowlease.Fixed(1, snowlease.Config{Layout: snowflake.Layout{Epoch: snowflake.UnixEpoch}})
		require.NoError(t, err)
		id, err := w.NextID()
		require.NoError(t, err)
		p, err := w.Decode(id)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), p.Time, time.Millisecond)
		require.NoError(t, w.Close())
		for epoch, says := range map[int64]string{
			1577808000:   "epoch 1577808000 is 1970-01-19T06:16:48Z, before 2000: give Unix milliseconds, as 1577808000000 for 2019-12-31T16:00:00Z",
			1:            "epoch 1 is 1970-01-01T00:00:00Z, before 2000: give Unix milliseconds",
			946684799999: "epoch 946684799999 is 1999-12-31T23:59:59Z, before 2000: give Unix milliseconds",
		} {
			_, err := snowlease.Fixed(1, snowlease.Config{Layout: snowflake.Layout{Epoch: epoch}})
			require.ErrorContains(t, err, says)
		}
		for years, warns := range map[time.Duration]bool{6: false, 4: true} {
			ends := time.Now().Add(years * 365 * 24 * time.Hour)
			layout := snowflake.Layout{Epoch: 1, TimeBits: 38}
			layout.Epoch += ends.UnixMilli() - layout.Ends().UnixMilli()
			var log logtest.Journal
			w, err := snowlease.Open(t.Context(), memcenter.New(), snowlease.Config{Namespace: "orders", Layout: layout, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			require.NoError(t, err)
			require.NoError(t, w.Close())
			require.Equal(t, warns, strings.Contains(log.String(), `level=WARN msg="the layout's time field ends within five years"`))
			layout.Epoch -= ends.UnixMilli() - time.Now().AddDate(0, 6, 0).UnixMilli()
			_, err = snowlease.Fixed(1, snowlease.Config{Layout: layout})
			require.ErrorContains(t, err, "year")
		}
	})
}

// The worker ids of one host may be those of the copy too.
func TestResetOfAHostsCenter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, err := snowlease.Open(t.Context(), promising{memcenter.New()}, snowlease.Config{Namespace: "orders"})
		require.NoError(t, err)
		defer func() { _ = w.Close() }()
		require.ErrorContains(t, w.Reset(t.Context()), "a copied process may have the same worker id")
		require.NoError(t, w.Healthy())
	})
}

type promising struct{ lease.Center }

func (p promising) Extras() lease.Extras {
	return lease.Extras{Uniqueness: "unique on this host"}
}
