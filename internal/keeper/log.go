package keeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

// attempted returns the error of a start that began at a time: its last error, and the reason why
// its context has ended, if it has.
func (k *Keeper) attempted(ctx context.Context, began time.Time, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("stopped while waiting: %w; the last answer was: %w", cause, err)
	}
	return fmt.Errorf("borrow a worker id of namespace %q%s (tried for %v): %w",
		k.cfg.Request.Namespace, k.named(" from ", err), time.Since(began).Round(time.Millisecond), err)
}

// named returns preposition and the name of the center, or "" if err names the center.
func (k *Keeper) named(preposition string, err error) string {
	name := lease.Name(k.cfg.Center)
	if strings.Contains(err.Error(), name) {
		return ""
	}
	return preposition + name
}

// prospect returns attributes for the log: the lease and the time when ids stop if the center
// does not answer.
func (k *Keeper) prospect(ctx context.Context) []any {
	if !k.cfg.Logger.Enabled(ctx, slog.LevelError) {
		return nil
	}
	args := []any{"namespace", k.cfg.Request.Namespace, "center", lease.Name(k.cfg.Center)}
	if k.grant != (lease.Grant{}) {
		args = append(args, "worker", k.grant.Worker)
	}
	if left := k.left(k.lent); k.cfg.Generator.Err() == nil && left > 0 {
		args = append(args, "ids_stop_at", time.Now().Add(left))
	}
	return args
}

// failed records an error. It logs the first error in a row as a warning and the others at debug
// level. A quarantine ends by itself, so it is logged as a wait, at info level.
func (k *Keeper) failed(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return // stopping
	}
	was := k.Status()
	q, state := (*lease.QuarantineError)(nil), Borrowing
	switch {
	case was.State == Holding:
		state = Holding
	case errors.As(err, &q):
		state = Quarantined
	}
	k.note(state, err)
	level := slog.LevelDebug
	first := was.Err == nil || errors.Is(was.Err, lease.ErrLost) || state != was.State
	if q == nil || q.Wait() > 2*(k.cfg.Request.MaxTTL+k.cfg.Request.Skew) { // no member causes such a long quarantine
		if first {
			level = slog.LevelWarn
		}
		st := k.Status()
		k.cfg.Logger.Log(ctx, level, what, append(k.prospect(ctx), "failing_since", st.FailingSince, "err", st.Err)...)
		return
	}
	if first {
		level = slog.LevelInfo
	}
	args := append(k.prospect(ctx), "wait", q.Wait())
	if q.Reason == lease.NothingOnRecord && k.lent == (generator.Range{}) {
		k.cfg.Logger.Log(ctx, level, "new namespace; waiting for its first worker id",
			append(args, "hint", "if it is not new, check its spelling and which store this is")...)
		return
	}
	k.cfg.Logger.Log(ctx, level, "the center may have lost grants; waiting for a worker id",
		append(args, "until", time.Now().Add(q.Wait()), "reason", printable.Reason(q.Reason))...)
}

func (k *Keeper) note(s State, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	st := &k.status
	if st.State == Holding && s == Borrowing {
		st.Losses++
	}
	st.State, st.Err = s, fault.Told(err)
	if q := (*lease.QuarantineError)(nil); errors.As(err, &q) {
		if st.Reason = q.Reason; q.Reason == lease.NothingOnRecord && !st.Renewed.IsZero() {
			st.Reason = "all records were lost"
		}
	}
	switch {
	case err == nil:
		st.FailingSince = time.Time{}
	case st.FailingSince.IsZero():
		st.FailingSince = k.began
	}
}
