// Package printable makes untrusted text safe to show in errors and logs.
package printable

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Max is the number of bytes that Text shows.
const Max = 500

// Text returns s with each nonprintable character replaced by a question mark, and cut
// after Max bytes. The result holds no terminal control sequences and no line breaks.
func Text(s string) string {
	shown := s
	if len(s) > Max {
		end := Max
		for end > Max-utf8.UTFMax && !utf8.RuneStart(s[end]) {
			end--
		}
		shown = s[:end]
	}
	shown = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, shown)
	if len(s) > Max {
		shown += fmt.Sprintf("... (%d bytes)", len(s))
	}
	return shown
}

var address = regexp.MustCompile(`://|:.*@|(?i)(passw|pass=|key=)`)

// Quote returns Text(s) in quotes, or how long s is if it looks like an address of a store,
// which may have a password and is in the wrong place.
func Quote(s string) string {
	if address.MatchString(s) {
		return fmt.Sprintf("(%d bytes, not shown: they look like an address)", len(s))
	}
	return strconv.Quote(Text(s))
}
