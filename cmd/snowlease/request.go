package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
)

// requestFlags say what the members of a namespace agree on: by the application's
// configuration, or by its parts.
type requestFlags struct {
	file, key      string
	layout         layoutFlags
	ttl, max, skew time.Duration
	reserved       int64

	// By complete:
	given        bool // something was said
	request      lease.Request
	waitReplicas int
}

func (f *requestFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.file, "config", "", "YAML file with the application's configuration of idworker, in place of the flags for its parts")
	flags.StringVar(&f.key, "key", "", `where in the file, such as app.idworker (default: idworker if the file has that, else all of it)`)
	f.layout.register(cmd)
	flags.DurationVar(&f.ttl, "ttl", 0, fmt.Sprintf("TTL of the leases (default %v)", lease.DefaultTTL))
	flags.DurationVar(&f.max, "max-ttl", 0, fmt.Sprintf("greatest TTL of any member (default: the TTL, at least %v)", lease.DefaultTTL))
	flags.DurationVar(&f.skew, "skew", 0, fmt.Sprintf("how far the center's clock may be behind its latest time at a loss of records (default %v)", lease.DefaultSkew))
	flags.Int64Var(&f.reserved, "reserved", 0, "how many of the greatest worker ids are never lent")
}

// parts are the flags that --config stands for.
const parts = "layout epoch unit bits ttl max-ttl skew reserved"

// complete makes the request. What the configuration says of namespace and quarantine
// goes to the store's flags, which must not say otherwise.
func (f *requestFlags) complete(cmd *cobra.Command, s *storeFlags) error {
	flags, c := cmd.Flags(), idworker.Config{}
	for name := range strings.FieldsSeq(parts) {
		f.given = f.given || flags.Changed(name)
	}
	if f.file != "" {
		if f.given {
			return errors.New("--config is given together with flags for its parts (" + parts + "): leave one of them out")
		}
		f.given = true
		text, err := os.ReadFile(f.file)
		if err != nil {
			return err
		}
		checked, err := checkConfig(text, f.key)
		if err != nil {
			return err
		}
		if len(checked.faults) > 0 {
			return fmt.Errorf("%s has faults: see \"snowlease config check %s\"", f.file, f.file)
		}
		c = checked.config
		if s.namespace != "" && s.namespace != c.Namespace {
			return fmt.Errorf("--namespace %q and the namespace %q of %s differ: leave one of them out", s.namespace, c.Namespace, f.file)
		}
		if !flags.Changed("quarantine") {
			s.quarantine = c.WithDefaults().Quarantine
		}
		f.waitReplicas = c.WaitReplicas
		s.namespace = c.Namespace
	} else {
		l, err := f.layout.layout()
		if err != nil {
			return err
		}
		c = idworker.Config{Layout: l, TTL: f.ttl, MaxTTL: f.max, Skew: f.skew, Reserved: f.reserved}
	}
	c.Mode, c.WaitReplicas = idworker.ModeAuto, 0 // the store says it
	c.Namespace, c.Quarantine = s.namespace, s.quarantine
	if c.Namespace == "" {
		c.Namespace = "unnamed" // where none is required
	}
	r, err := c.Request()
	r.Local = time.Now().UnixMilli()
	f.request = r
	return err
}
