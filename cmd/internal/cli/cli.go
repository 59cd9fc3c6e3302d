// Package cli implements the commands that decode ids and manage the worker ids of a service.
// The programs cmd/snowlease and cmd/snowlease-etcd add their stores.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	_ "time/tzdata" // configurations name time zones

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
)

// Main runs a program with the arguments of this process and exits.
func Main(p target.Program) {
	os.Exit(Run(context.Background(), p, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// program adds methods for the commands to a target.Program.
type program struct{ target.Program }

// rename replaces the command name snowlease in text with the name of this program.
func (p program) rename(text string) string {
	return command.ReplaceAllString(text, "${1}"+p.Name+" ")
}

// command matches the command name in quotes, as in "snowlease doctor", and in a line of an
// example.
var command = regexp.MustCompile(`(?m)(^  |")snowlease `)

const (
	exitFailed = 1
	exitUsage  = 2
	exitNo     = 3
)

// A failure is an error other than wrong usage, with its exit code.
type failure struct {
	code int
	error
}

func (f failure) Unwrap() error { return f.error }

// addCommands adds all commands. Their files begin with ids, worker, numbers and config.
func (p program) addCommands(root *cobra.Command) {
	add := func(title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: title, Title: title + ":"})
		root.AddCommand(commands...)
		for _, c := range commands {
			c.GroupID, c.Long, c.Example = title, p.rename(c.Long), p.rename(c.Example)
		}
	}
	add("Ids", decodeCommand(p), encodeCommand(), nextCommand(p), publicIDCommand(p), layoutCommand(), inspectCommand())
	add("Worker ids", workersCommand(p), initCommand(p), doctorCommand(p), quarantineCommand(p), releaseCommand(p), takeoverCommand(p), retireCommand(p))
	add("Configuration", checkCommand())
	if p.Numbers {
		add("Numbers", segmentCommand(p))
	}
}

// Run runs a program and returns its exit code.
func Run(ctx context.Context, from target.Program, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := program{from}
	root := &cobra.Command{
		Use:   p.Name,
		Short: p.Short,
		Long: p.Short + `.

Exit codes: 0 success, 1 failure, 2 wrong usage, 3 the command ran and the answer is no
(for example: faults were found, the namespace exists).`,
		Version:       version(),
		Args:          noArgs,
		RunE:          help,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	p.addCommands(root) //nolint:contextcheck // cobra hands the context to each command
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		// Do not print the text after a dash: -store=redis://user:password@host.
		text := err.Error()
		if known, typed, ok := strings.Cut(text, " in -"); ok && strings.HasPrefix(text, "unknown shorthand flag") && len(typed) > 1 {
			return fmt.Errorf("%s: flags of more than one letter begin with two dashes", known)
		}
		if strings.HasPrefix(text, "bad flag syntax") {
			return errors.New("bad flag syntax: write --name=value")
		}
		return err
	})
	root.SetArgs(args)
	root.SetIn(stdin)
	out := bufio.NewWriter(stdout) // keeps the first error of a write for Flush
	root.SetOut(out)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	err = errors.Join(err, failed(out.Flush()))
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "%s: %s\n", p.Name, p.rename(err.Error()))
	if f := (failure{}); errors.As(err, &f) {
		return f.code
	}
	fmt.Fprintf(stderr, "See %q.\n", cmd.CommandPath()+" --help")
	return exitUsage
}

// version returns the version, the commit if the binary records it, and the Go version.
func version() string {
	info, _ := debug.ReadBuildInfo()
	text := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " " + s.Value
		}
	}
	return text + " " + info.GoVersion
}

var word = regexp.MustCompile(`^[a-z-]{1,20}$`)

// noArgs is cobra.NoArgs, but prints an argument only if it looks like a command: others may be a store
// with a password.
func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case word.MatchString(args[0]) && cmd.HasAvailableSubCommands():
		var names []string
		for _, c := range cmd.Commands() {
			names = append(names, c.Name())
		}
		return fmt.Errorf("unknown command %q for %q: choose %s", args[0], cmd.CommandPath(), strings.Join(names, ", "))
	}
	return fmt.Errorf("%s takes no arguments: use flags, and name the store with --store or %s", cmd.CommandPath(), target.EnvStore)
}

// help prints the commands of a group.
func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// failed gives err the exit code 1, unless it is nil or has another exit code.
func failed(err error) error {
	if err == nil || errors.As(err, new(failure)) {
		return err
	}
	return failure{exitFailed, err}
}
