package keeper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/lease"
)

// Explain adds to an error of the generator the reason why there is no worker id, such as the
// last error of the center.
func (k *Keeper) Explain(err error) error {
	early := errors.Is(err, generator.ErrNotStarted)
	switch st := k.Status(); {
	case st.Err != nil && errors.Is(err, generator.ErrLeaseExpired):
		return fmt.Errorf("%w (last renewed %s, failing since %s): %w",
			err, st.Renewed.UTC().Format(time.RFC3339), st.FailingSince.UTC().Format(time.RFC3339), st.Err)
	case st.Err != nil && early:
		return fmt.Errorf("%w: %w", err, st.Err)
	case early && st.State == Borrowing:
		return fmt.Errorf("%w: it is being borrowed at this moment", err)
	}
	return err
}

// DefaultHolder returns a name of this process, program@host:pid, for people who look at the
// slots of a center.
func DefaultHolder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	h := fmt.Sprintf("%s@%s:%d", filepath.Base(os.Args[0]), host, os.Getpid())
	return strings.ToValidUTF8(h[:min(len(h), lease.MaxHolder)], "")
}
