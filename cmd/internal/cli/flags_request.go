package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
)

// requestFlags hold the settings that all members of a namespace share, from flags or from the
// application's configuration.
type requestFlags struct {
	layout         layoutFlags
	ttl, max, skew time.Duration
	reserved       int64

	// Set by complete:
	given   bool   // a configuration or a flag was given
	from    string // the origin of the request, for messages
	request lease.Request
	mode    idworker.Mode // of the configuration
}

// lends reports whether the application borrows worker ids from a center.
func (f *requestFlags) lends() bool {
	return f.mode != idworker.ModeLocal && f.mode != idworker.ModeRedisSequence
}

func (f *requestFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.layout.register(cmd)
	flags.DurationVar(&f.ttl, "ttl", 0, fmt.Sprintf("TTL of the leases (default %v)", lease.DefaultTTL))
	flags.DurationVar(&f.max, "max-ttl", 0, fmt.Sprintf("longest TTL of any member (default: the TTL, at least %v)", lease.DefaultTTL))
	flags.DurationVar(&f.skew, "skew", 0, fmt.Sprintf("how far the store's clock may have gone backward when the store loses records (default %v)", lease.DefaultSkew))
	flags.Int64Var(&f.reserved, "reserved", 0, "how many of the highest worker ids are never lent")
}

// requestParts lists the flags that register adds to the layout flags.
const requestParts = "ttl max-ttl skew reserved"

// complete builds the request for the store of s, whose complete has run.
func (f *requestFlags) complete(cmd *cobra.Command, s *storeFlags) error {
	var c idworker.Config
	if s.app.config != nil {
		c, f.from, f.given = *s.app.config, s.app.file, true
		f.mode = c.Mode
	} else {
		f.from, f.given = "the flags and the defaults", changed(cmd, layoutParts+" "+requestParts) != ""
		l, err := f.layout.layout()
		if err != nil {
			return err
		}
		c = idworker.Config{Layout: l, Lease: idworker.LeaseConfig{TTL: f.ttl, MaxTTL: f.max}, Store: idworker.StoreConfig{Skew: f.skew}, Reserved: f.reserved}
	}
	c.Mode, c.Store.WaitReplicas, c.Sequence = idworker.ModeAuto, 0, idworker.SequenceConfig{} // --store decides
	if !f.lends() {
		// These settings do not apply to a center.
		c.Lease, c.Local, c.Store.Skew = idworker.LeaseConfig{}, hostseq.Config{}, 0
	}
	c.Namespace, c.Store.Durable = s.namespace, s.durable
	if c.Namespace == "" {
		c.Namespace = "unnamed" // for commands that need none
	}
	r, err := c.Request()
	r.CallerTime = time.Now().UnixMilli()
	f.request = r
	return err
}
