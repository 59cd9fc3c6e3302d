// Package printable makes untrusted strings safe to show in errors and logs.
package printable

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Max is the number of bytes that Text shows.
const Max = 500

// Text returns s with each nonprintable character replaced by a question mark, and cut
// after Max bytes. The result holds no terminal control sequences and no line breaks.
func Text(s string) string {
	if len(s) <= Max {
		return plain(s)
	}
	end := Max
	for end > Max-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%s... (%d bytes)", plain(s[:end]), len(s))
}

var change = regexp.MustCompile(`incarnation of the store changed from "[^"]*" to "[^"]*"`)

// Reason returns the Text of a lease.QuarantineError's Reason for people, without incarnations.
func Reason(s string) string {
	return Text(change.ReplaceAllString(s, "the store restarted or was replaced"))
}

func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// An edited error wraps another one under a message of its own.
type edited struct {
	error
	text string
}

func (e *edited) Error() string { return e.text }
func (e *edited) Unwrap() error { return e.error }

// Error returns an error that wraps err, or nil. Its message is that of err in one line, after
// edit. Each error in the tree of err, such as a server's, appears in it as Text shows it.
func Error(err error, edit func(string) string) error {
	if err == nil {
		return nil
	}
	text := edit(err.Error())
	var shorten func(error)
	shorten = func(err error) {
		switch e := err.(type) { //nolint:errorlint // the tree is walked
		case interface{ Unwrap() error }:
			if inner := e.Unwrap(); inner != nil {
				shorten(inner)
				return
			}
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				shorten(inner)
			}
			return
		}
		long := edit(err.Error())
		text = strings.ReplaceAll(text, long, Text(long))
	}
	shorten(err)
	return &edited{err, plain(strings.NewReplacer(":\n\t", ": ", "\n\t", "; ", "\n", "; ").Replace(text))}
}

var address = regexp.MustCompile(`://|:.*@|(?i)(passw|pass=|key=)`)

// Quote returns Text(s) in quotes. If s looks like the address of a store in the wrong place,
// which may include a password, Quote returns only its length.
func Quote(s string) string {
	if address.MatchString(s) {
		return fmt.Sprintf("(%d bytes, not shown: they look like an address)", len(s))
	}
	return strconv.Quote(Text(s))
}

// The bounds of the results of Time. Times after the year 9999 have no JSON form, in any zone.
const (
	first = -62135596800000 // the zero time.Time
	last  = 253402214399999 // 9999-12-30 23:59:59.999 UTC
)

// Time returns the time of Unix milliseconds, or the nearest time that has a JSON form. A record
// may have any number.
func Time(ms int64) time.Time { return time.UnixMilli(min(max(ms, first), last)) }
