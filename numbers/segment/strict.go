package segment

import (
	"context"
	"errors"
)

// ask fills the beginning of dst with one reservation. It hands the numbers straight
// from the store to the caller, so that they are in the order of the reservations.
func (i *Issuer) ask(ctx context.Context, dst []int64, hasty bool) (n int64, err error) {
	for delay := firstRetry; ; delay = min(2*delay, lastRetry) {
		if err := i.turn.Load().err; errors.Is(err, ErrNotStarted) || errors.Is(err, ErrClosed) {
			return 0, err
		}
		got, err := i.reserve(ctx, min(int64(len(dst)), i.cfg.MaxStep), hasty)
		if err == nil {
			i.direct.Add(got.Len())
			for k := range dst[:got.Len()] {
				dst[k] = got.First + int64(k)
			}
			return got.Len(), nil
		}
		if hasty || final(err) || ctx.Err() != nil {
			return 0, unavailable(err)
		}
		if cause := pause(ctx, delay); cause != nil {
			return 0, unavailable(errors.Join(cause, err))
		}
	}
}
