package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

const stamp = "2006-01-02T15:04:05.000Z07:00"

// at formats Unix milliseconds as a time, and 0 as "".
func at(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(stamp)
}

func jsonFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print JSON, one object a line")
}

// input reads a file, or the standard input if its name is "-".
func input(cmd *cobra.Command, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(cmd.InOrStdin())
	}
	return os.ReadFile(name)
}

// unnamed returns the error of a file without its name, which may be a secret by mistake.
func unnamed(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// columns returns a writer of a table, whose cells end with tabs. Flush prints it.
func columns(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }
