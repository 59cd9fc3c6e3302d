package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/snowlease/snowlease/idworker"
	configfault "github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/internal/settings"
	"github.com/snowlease/snowlease/schema"
)

// configFlags name the application's configuration.
type configFlags struct {
	file, key string
	config    *idworker.Config // set by read; nil if --config names no file
}

func (f *configFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "config", "", "YAML `file` with the application's configuration")
	keyFlag(cmd, &f.key)
}

func keyFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "key", "idworker", "where the file has the idworker configuration, such as app.ids; \"\" if it is the whole file")
}

// replaced are the flags whose values a configuration has.
const replaced = layoutParts + " " + requestParts + " namespace quarantine wait-replicas"

// changed reports whether any of the named flags is set.
func changed(cmd *cobra.Command, names string) bool { return firstChanged(cmd, names) != "" }

func firstChanged(cmd *cobra.Command, names string) string {
	for name := range strings.FieldsSeq(names) {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

// read reads the configuration, if a flag names it.
func (f *configFlags) read(cmd *cobra.Command) error {
	if f.file == "" {
		if changed(cmd, "key") {
			return errors.New("--key is set without --config: name the file with --config")
		}
		return nil
	}
	if name := firstChanged(cmd, replaced); name != "" {
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
		all = append(all, fmt.Errorf("%s:%d: %s", f.file, fault.Line, fault.Text))
	}
	f.config = &c
	return errors.Join(all...)
}

// A fault is an error in a line of a file.
type fault struct {
	Line int
	Text string
}

// A later is a part of a YAML text, to be decoded when it is known what it is.
type later func(into any) error

// UnmarshalYAML keeps the decoder, which knows lines, anchors and KnownFields.
func (l *later) UnmarshalYAML(decode func(any) error) error {
	*l = decode
	return nil
}

// parseConfig reads the configuration at key in a YAML text. It returns an error if there is none.
// No error shows a value: what stands beside the configuration may be a password.
func parseConfig(text []byte, key string) (c idworker.Config, faults []fault, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var part later
	if err := decoder.Decode(&part); err != nil && !errors.Is(err, io.EOF) {
		return c, nil, errors.New(anchor.ReplaceAllString(err.Error(), "unknown anchor: quote values that begin with a *"))
	}
	if part == nil {
		return c, nil, errors.New("the file is empty")
	}
	for name := range strings.SplitSeq(key, ".") {
		if key == "" {
			break
		}
		var parts map[string]later
		_ = part(&parts) // the other keys may be anything
		if part = parts[name]; part == nil {
			return c, nil, fmt.Errorf("there is nothing at the key %s: set --key to the key of the idworker configuration", key)
		}
	}
	wrong := (*yaml.TypeError)(nil)
	if err := part(&c); err != nil && !errors.As(err, &wrong) {
		return c, nil, err
	}
	if wrong != nil {
		for _, text := range wrong.Errors {
			faults = append(faults, faultOf(text))
		}
		return c, faults, nil
	}
	invalid, _ := c.Validate().(interface{ Unwrap() []error })
	if invalid == nil {
		return c, nil, nil
	}
	var file yaml.Node
	must(yaml.Unmarshal(text, &file))
	for _, err := range invalid.Unwrap() {
		at := key
		if e := (*configfault.Fault)(nil); errors.As(err, &e) {
			at += "." + e.Key
		}
		faults = append(faults, fault{lineAt(file.Content[0], at), strings.TrimPrefix(err.Error(), "snowlease: config: ")})
	}
	return c, faults, nil
}

var (
	anchor    = regexp.MustCompile(`(?s)unknown anchor '.*' referenced`)
	unknown   = regexp.MustCompile(`(?s)^field (.*) not found in type .*$`)
	wrongType = regexp.MustCompile("(?s)^cannot unmarshal !!(\\w+).* into ([^`]+)$")
)

// faultOf returns the fault in one of the errors of a yaml.TypeError: "line 3: field x not found".
func faultOf(text string) (f fault) {
	line, text, _ := strings.Cut(strings.TrimPrefix(text, "line "), ": ")
	f.Line, _ = strconv.Atoi(line)
	f.Text = printable.Text(text)
	if m := unknown.FindStringSubmatch(text); m != nil {
		f.Text = "unknown key " + printable.Quote(m[1])
	} else if m := wrongType.FindStringSubmatch(text); m != nil {
		f.Text = fmt.Sprintf("wrong type: %s in place of %s", m[1], m[2])
	}
	return f
}

// lineAt returns the line of a key such as idworker.segments[1].order, or of as much of it as n has.
func lineAt(n *yaml.Node, key string) int {
	line := n.Line
	for part := range strings.FieldsFuncSeq(key, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		for n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		i, err := strconv.Atoi(part)
		if n.Kind == yaml.MappingNode {
			for i, err = 0, nil; i < len(n.Content) && n.Content[i].Value != part; i += 2 {
			}
		}
		if err != nil || i >= len(n.Content) {
			return line
		}
		line = n.Content[i].Line
		if n.Kind == yaml.MappingNode {
			i++
		}
		n = n.Content[i]
	}
	return line
}

func configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check a configuration, or print its JSON Schema",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "schema",
			Short: "Print the JSON Schema of idworker.Config",
			Long: `Schema prints the JSON Schema of idworker.Config with a description of every key. Editors
use it to complete and check YAML.`,
			Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				_, err := io.WriteString(cmd.OutOrStdout(), schema.Config())
				return failed(err)
			},
		},
		configCheckCommand(),
	)
	return cmd
}

func configCheckCommand() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "check FILE|-",
		Short: "Check the idworker configuration in a YAML file",
		Long: `Check reads a YAML file and prints the line of each fault in its idworker configuration:
first unknown keys and values of a wrong type, then settings that conflict. It connects to
no store; "snowlease doctor --config FILE" does. It exits with 3 if it finds faults.`,
		Example: `  snowlease config check config.yaml
  snowlease config check --key orders.ids config.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name the file: snowlease config check config.yaml")
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			file := args[0]
			var (
				text []byte
				err  error
			)
			if file == "-" {
				text, err = io.ReadAll(cmd.InOrStdin())
			} else {
				text, err = os.ReadFile(file)
			}
			if err != nil {
				return failed(err)
			}
			c, faults, err := parseConfig(text, key)
			if err != nil {
				return failed(fmt.Errorf("%s: %w", file, err))
			}
			for _, f := range faults {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s:%d: %s\n", file, f.Line, f.Text); err != nil {
					return failed(err)
				}
			}
			if n := len(faults); n > 0 {
				return failure{exitNo, fmt.Errorf("%s has faults: %d", file, n)}
			}
			if text := settings.FewIDs(layoutOf(c)); text != "" {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: layout: %s\n", file, text)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is valid; \"snowlease doctor --config\" compares it with the namespace\n", file)
			return failed(err)
		},
	}
	keyFlag(cmd, &key)
	return cmd
}
