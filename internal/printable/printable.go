// Package printable makes texts that anybody may have written fit for errors and logs.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Max is how many bytes of a text are shown.
const Max = 500

// Text returns s with a question mark for each character that is not to be printed, so
// that a terminal takes none for a command and a log no line for two, and without what
// is beyond Max bytes.
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
