package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
)

// requestFlags describe what the members of a namespace agree on, by the application's
// configuration file or by single flags.
type requestFlags struct {
	file, key      string
	layout         layoutFlags
	ttl, max, skew time.Duration
	reserved       int64

	// Set by complete:
	given        bool   // any of the flags is set, or configFile is used
	from         string // where the request comes from
	request      lease.Request
	waitReplicas int
}

func (f *requestFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.file, "config", "", "YAML file with the application's idworker configuration, instead of single flags (default: "+configFile+" if it configures the namespace)")
	flags.StringVar(&f.key, "key", "", `key of the idworker configuration in the file, such as app.idworker (default: idworker if the file has it, else the whole file)`)
	f.layout.register(cmd)
	flags.DurationVar(&f.ttl, "ttl", 0, fmt.Sprintf("TTL of the leases (default %v)", lease.DefaultTTL))
	flags.DurationVar(&f.max, "max-ttl", 0, fmt.Sprintf("longest TTL of any member (default: the TTL, at least %v)", lease.DefaultTTL))
	flags.DurationVar(&f.skew, "skew", 0, fmt.Sprintf("how far behind its latest time the store's clock may be at a loss of records (default %v)", lease.DefaultSkew))
	flags.Int64Var(&f.reserved, "reserved", 0, "how many of the highest worker ids are never lent")
}

// configFile is read by default.
const configFile = "config.yaml"

// findFile sets file to configFile in the working directory if it configures the namespace
// and no flag is given that it would replace.
func (f *requestFlags) findFile(namespace string) {
	if f.key != "" {
		return
	}
	text, err := os.ReadFile(configFile)
	var at struct {
		IDWorker struct {
			Namespace string `yaml:"namespace"`
		} `yaml:"idworker"`
	}
	if err != nil || yaml.Unmarshal(text, &at) != nil {
		return
	}
	if found := at.IDWorker.Namespace; found != "" && (namespace == "" || namespace == found) {
		f.file = configFile
	}
}

// parts are the flags that --config replaces.
const parts = "layout epoch unit bits ttl max-ttl skew reserved"

// complete builds the request, and copies namespace and quarantine from the configuration to
// s. A --namespace that differs is an error.
func (f *requestFlags) complete(cmd *cobra.Command, s *storeFlags) error {
	flags, c := cmd.Flags(), idworker.Config{}
	for name := range strings.FieldsSeq(parts) {
		f.given = f.given || flags.Changed(name)
	}
	f.from = "the flags and the defaults"
	if !f.given && f.file == "" {
		f.from = "the defaults, since there is neither --config nor " + configFile + " with this namespace"
		f.findFile(s.namespace)
	}
	if f.file != "" {
		f.from = f.file
		if f.given {
			return errors.New("--config is given together with flags that it replaces (" + parts + "): leave one of them out")
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
			return fmt.Errorf("%s has faults: see \"snowlease config check %s\"; with --layout, the file is not read", f.file, f.file)
		}
		c = checked.config
		if s.namespace != "" && s.namespace != c.Namespace {
			return fmt.Errorf("--namespace %q and the namespace %q of %s differ: leave one of them out", s.namespace, c.Namespace, f.file)
		}
		if !flags.Changed("quarantine") {
			s.quarantine = c.WithDefaults().Store.Quarantine
		}
		f.waitReplicas = c.Store.WaitReplicas
		s.namespace = c.Namespace
	} else {
		l, err := f.layout.layout()
		if err != nil {
			return err
		}
		c = idworker.Config{Layout: l, Lease: idworker.LeaseConfig{TTL: f.ttl, MaxTTL: f.max}, Store: idworker.StoreConfig{Skew: f.skew}, Reserved: f.reserved}
	}
	c.Mode, c.Store.WaitReplicas, c.Sequence = idworker.ModeAuto, 0, idworker.SequenceConfig{} // --store decides
	c.Namespace, c.Store.Quarantine = s.namespace, s.quarantine
	if c.Namespace == "" {
		c.Namespace = "unnamed" // for commands that need none
	}
	r, err := c.Request()
	r.Local = time.Now().UnixMilli()
	f.request = r
	return err
}
