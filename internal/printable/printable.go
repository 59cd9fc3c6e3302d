// Package printable makes untrusted text safe to show in errors and logs.
package printable

import (
	"fmt"
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
