package keeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// Open returns a Keeper that has started, and is ready to issue ids:
//
//	center, err := dbseq.Open("mysql", dsn) // or redisseq.New(client), hostseq.New(cfg, layout)
//	k, err := keeper.Open(ctx, keeper.Config{Center: center, Namespace: "orders"})
//	defer k.Stop(ctx)
//	id, err := k.NextID()
//
// A center that may have forgotten grants lends after Skew, 2 s by default, and a moment.
// It cannot tell that from the first start of a namespace. Warnings of the center go to
// Logger. Errors: those of New and Start. After an error there is nothing to stop.
func Open(ctx context.Context, cfg Config) (*Keeper, error) {
	k, err := New(cfg)
	if err != nil {
		return nil, err
	}
	for _, text := range cfg.Center.Extras().Warnings {
		k.cfg.Logger.Warn("lease center", "center", lease.Name(cfg.Center), "warning", text)
	}
	if err := k.Start(ctx); err != nil {
		return nil, err
	}
	return k, nil
}

var _ snowflake.Source = (*Keeper)(nil)

// NextID returns the next id of the generator: see generator.Generator.NextID. It does no
// I/O, takes no lock and allocates nothing.
//
// Errors: generator.ErrNotStarted, ErrLeaseExpired, ErrStopped and ErrExhausted; the first
// two together with the last error of the center. On error, the id is 0.
func (k *Keeper) NextID() (int64, error) {
	id, err := k.cfg.Generator.NextID()
	if err != nil {
		return 0, k.Explain(err)
	}
	return id, nil
}

// NextIDWait is NextID, but waits while the lease has expired or a burst has used up all
// ids: see generator.Generator.NextIDWait.
func (k *Keeper) NextIDWait(ctx context.Context) (int64, error) {
	id, err := k.cfg.Generator.NextIDWait(ctx)
	if err != nil {
		return 0, k.Explain(err)
	}
	return id, nil
}

// NextIDs fills dst with ascending ids, and waits like NextIDWait: see
// generator.Generator.NextIDs. On error, dst is zeroed.
func (k *Keeper) NextIDs(ctx context.Context, dst []int64) error {
	if err := k.cfg.Generator.NextIDs(ctx, dst); err != nil {
		return k.Explain(err)
	}
	return nil
}

// Err returns why NextID would fail now, or nil, for a readiness probe. It ignores a burst that
// has used up its lead, and calls no center. Errors: those of NextID but ErrExhausted.
func (k *Keeper) Err() error { return k.Explain(k.cfg.Generator.Err()) }

// Explain adds to an error of the generator why there is no worker id, such as the last error
// of the center. The Keeper's own methods do that; use it for streams of Generator.For.
func (k *Keeper) Explain(err error) error {
	early := errors.Is(err, generator.ErrNotStarted)
	switch st := k.Status(); {
	case st.Err != nil && errors.Is(err, generator.ErrLeaseExpired):
		return fmt.Errorf("lease: last renewed %s, renewals have failed since %s: %w: %w",
			st.Renewed.UTC().Format(time.RFC3339Nano), st.FailingSince.UTC().Format(time.RFC3339Nano), st.Err, err)
	case st.Err != nil && early:
		return fmt.Errorf("%w: %w", err, st.Err)
	case early && st.State == Borrowing:
		return fmt.Errorf("%w: it is being borrowed at this moment", err)
	}
	return err
}

// withDefaults returns c with Generator and Request filled in, and the faults of what they
// are made from. Generator stays nil if Layout is at fault.
func (c Config) withDefaults() (Config, []error) {
	var errs []error
	if v := reflect.ValueOf(c.Center); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		errs = append(errs, errors.New("lease: keeper: Center is nil: give one, such as from dbseq.Open, redisseq.New or hostseq.New"))
	}
	layout := c.Layout
	switch {
	case c.Generator == nil:
		var err error
		if c.Generator, err = generator.New(layout); err != nil {
			errs = append(errs, err)
			layout = snowflake.Layout{}
		}
	case layout != snowflake.Layout{}:
		errs = append(errs, errors.New("lease: keeper: Layout and Generator are both set: give one of them"))
	}
	if c.Generator != nil {
		layout = c.Generator.Layout()
	}
	switch {
	case c.Request == lease.Request{}:
		c.Request = NewRequest(c.Namespace, layout)
		c.Request.Holder = DefaultHolder()
	case c.Namespace != "":
		errs = append(errs, fmt.Errorf("lease: keeper: Namespace %q and Request are both set: give one of them", c.Namespace))
	}
	return c, errs
}

// DefaultHolder names this process, as program@host:pid, for those who look at the slots of
// a center.
func DefaultHolder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	h := fmt.Sprintf("%s@%s:%d", filepath.Base(os.Args[0]), host, os.Getpid())
	return strings.ToValidUTF8(h[:min(len(h), lease.MaxHolder)], "")
}
