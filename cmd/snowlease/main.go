// Command snowlease takes ids apart and opens namespaces for worker ids.
//
//	snowlease decode 175928847299117063 --layout discord
//	snowlease init --namespace orders --mode redis --addr 127.0.0.1:6379
//
// It exits with 0 when all went well, 1 when something failed, 2 when it was called
// wrongly, and 3 when the namespace to be opened exists already.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

const (
	exitFailed = 1
	exitUsage  = 2
	exitExists = 3
)

// A failure is an error of a command that was called rightly.
type failure struct {
	code int
	err  error
}

func (f failure) Error() string { return f.err.Error() }
func (f failure) Unwrap() error { return f.err }

// run is the program, and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:               "snowlease",
		Short:             "Take snowflake ids apart, and open namespaces for worker ids",
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.AddCommand(decodeCommand(), initCommand(), versionCommand()) //nolint:contextcheck // cobra hands the context to each command
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "snowlease:", err)
	if f := (failure{}); errors.As(err, &f) {
		return f.code
	}
	fmt.Fprintf(stderr, "See %q.\n", cmd.CommandPath()+" --help")
	return exitUsage
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			version, revision, modified := "(unknown)", "", ""
			info, ok := debug.ReadBuildInfo()
			if ok {
				version = info.Main.Version
				for _, s := range info.Settings {
					switch {
					case s.Key == "vcs.revision":
						revision = " " + s.Value
					case s.Key == "vcs.modified" && s.Value == "true":
						modified = " (modified)"
					}
				}
				modified += " " + info.GoVersion
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "snowlease %s%s%s\n", version, revision, modified)
			return failed(err)
		},
	}
}

// failed marks err, if any, as a failure with the exit code 1.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return failure{exitFailed, err}
}
