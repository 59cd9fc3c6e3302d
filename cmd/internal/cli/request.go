package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
)

// requestFlags describe what the members of a namespace agree on, by the application's
// configuration file or by single flags.
type requestFlags struct {
	layout         layoutFlags
	ttl, max, skew time.Duration
	reserved       int64

	// Set by complete:
	given        bool   // any of the flags is set, or configFile is used
	from         string // where the request comes from
	file         string // the same, if it is a file
	request      lease.Request
	mode         idworker.Mode // of the file
	waitReplicas int
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
	flags.DurationVar(&f.skew, "skew", 0, fmt.Sprintf("how far behind its latest time the store's clock may be at a loss of records (default %v)", lease.DefaultSkew))
	flags.Int64Var(&f.reserved, "reserved", 0, "how many of the highest worker ids are never lent")
}

// parts are the flags that replace --config.
const parts = layoutParts + " ttl max-ttl skew reserved"

// changed reports whether any of the named flags is set.
func changed(cmd *cobra.Command, names string) bool {
	return slices.ContainsFunc(strings.Fields(names), cmd.Flags().Changed)
}

func errReplaced(names string) error {
	return errors.New("--config is given together with flags that it replaces (" + names + "): leave one of them out")
}

// complete builds the request, and copies namespace and quarantine from the configuration to
// s. A --namespace that differs is an error.
func (f *requestFlags) complete(cmd *cobra.Command, s *storeFlags) error {
	c := idworker.Config{}
	f.given = changed(cmd, parts)
	f.from = "the flags and the defaults"
	file := s.file
	if !f.given && file == "" {
		f.from = "the defaults, since there is neither --config nor " + configFile + " with this namespace"
		file = s.defaultFile()
	}
	if file != "" {
		f.from, f.file = file, file
		if f.given {
			return errReplaced(parts)
		}
		f.given = true
		var err error
		if c, err = readConfig(file, s.key); err != nil {
			return err
		}
		if err := s.sameNamespace(file, c.Namespace); err != nil {
			return err
		}
		if s.program.configures() && !changed(cmd, "quarantine") {
			s.quarantine = c.WithDefaults().Store.Quarantine
		}
		f.mode, f.waitReplicas, s.tables = c.Mode, c.Store.WaitReplicas, c.Store.TablePrefix
		s.namespace = c.Namespace
	} else {
		l, err := f.layout.layout()
		if err != nil {
			return err
		}
		c = idworker.Config{Layout: l, Lease: idworker.LeaseConfig{TTL: f.ttl, MaxTTL: f.max}, Store: idworker.StoreConfig{Skew: f.skew}, Reserved: f.reserved}
	}
	c.Mode, c.Store.WaitReplicas, c.Sequence = idworker.ModeAuto, 0, idworker.SequenceConfig{} // --store decides
	if !f.lends() {
		// Its settings are not those of a center.
		c.Lease, c.Local, c.Store.Skew = idworker.LeaseConfig{}, hostseq.Config{}, 0
	}
	c.Namespace, c.Store.Quarantine = s.namespace, s.quarantine
	if c.Namespace == "" {
		c.Namespace = "unnamed" // for commands that need none
	}
	r, err := c.Request()
	r.Local = time.Now().UnixMilli()
	f.request = r
	return err
}
