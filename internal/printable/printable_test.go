package printable_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/printable"
)

func TestText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 1<<20)
	for in, want := range map[string]string{
		"":                             "",
		"orders@host:7":                "orders@host:7",
		"Grüße \U0001f980 中":           "Grüße \U0001f980 中",
		"\x1b[2J\nlevel=ERROR\r\ttab":  "?[2J?level=ERROR??tab",
		"\u202egnp.exe\u0085\u2028end": "?gnp.exe??end",
		"bad \xff\xfe utf8":            "bad \ufffd\ufffd utf8",
		long:                           strings.Repeat("ü", printable.Max/2) + "... (2097152 bytes)",
		"a" + long:                     "a" + strings.Repeat("ü", printable.Max/2-1) + "... (2097153 bytes)",
		strings.Repeat("a", 500):       strings.Repeat("a", 500),
		strings.Repeat("\xbf", 600):    strings.Repeat("\ufffd", 496) + "... (600 bytes)",
	} {
		require.Equal(t, want, printable.Text(in))
	}
}

func FuzzText(f *testing.F) {
	f.Add("\x1b]0;title\x07")
	f.Fuzz(func(t *testing.T, s string) {
		got := printable.Text(s)
		require.True(t, utf8.ValidString(got))
		require.LessOrEqual(t, len(got), 3*printable.Max+30, "an invalid byte becomes three")
		for _, r := range got {
			require.True(t, unicode.IsPrint(r), "%q", got)
		}
	})
}
