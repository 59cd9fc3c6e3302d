package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/idworker"
)

// configFlags locate the application's configuration.
type configFlags struct {
	file, key string
	config    *idworker.Config // set by read; nil if --config names no file
}

func (f *configFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "config", "", "YAML `file` with the application's configuration")
	keyFlag(cmd, &f.key)
}

func keyFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "key", "idworker", "key of the idworker configuration in the file, such as app.ids; \"\" for the whole file")
}

// replaced lists the flags that --config replaces.
const replaced = layoutParts + " " + requestParts + " namespace durable wait-replicas"

// changed returns the first of the named flags that is set, or "".
func changed(cmd *cobra.Command, names string) string {
	for name := range strings.FieldsSeq(names) {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

// read reads the configuration if --config is set.
func (f *configFlags) read(cmd *cobra.Command) error {
	if f.file == "" {
		if cmd.Flags().Changed("key") {
			return errors.New("--key is set without --config: name the file with --config")
		}
		return nil
	}
	if name := changed(cmd, replaced); name != "" {
		return fmt.Errorf("--config and --%s are both given: leave one of them out", name)
	}
	text, err := os.ReadFile(f.file)
	if err != nil {
		return err
	}
	c, faults, err := parseConfig(text, f.key)
	if err != nil {
		return fmt.Errorf("%s: %w", f.file, err)
	}
	var all []error
	for _, fault := range faults {
		all = append(all, fmt.Errorf("%s:%s", f.file, fault))
	}
	f.config = &c
	return errors.Join(all...)
}
