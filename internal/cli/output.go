package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"
)

const stamp = "2006-01-02T15:04:05.000Z07:00"

// at formats Unix milliseconds, and 0 as "".
func at(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(stamp)
}

func jsonFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print JSON, one object a line")
}

func printJSON(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

// answer prints v as JSON, or the text for people.
func answer(cmd *cobra.Command, asJSON bool, v any, format string, args ...any) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), v)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), format, args...)
	return err
}

// printTable prints rows in columns.
func printTable(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(t, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return t.Flush()
}

// plain replaces control characters in a text from a store: a terminal would obey them.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// confirm asks a question and returns an error unless the answer is "yes".
func confirm(cmd *cobra.Command, yes bool, format string, args ...any) error {
	if yes {
		return nil
	}
	fmt.Fprintf(cmd.ErrOrStderr(), format+" Type yes to continue: ", args...)
	answer, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return failed(fmt.Errorf("read the answer: %w", err))
	}
	if strings.TrimSpace(answer) != "yes" {
		return failure{exitNo, errors.New("not confirmed, nothing changed (--yes confirms without asking)")}
	}
	return nil
}
