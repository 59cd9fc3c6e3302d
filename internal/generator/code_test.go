package generator

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// What every id or every tick writes shares no cache line with what every id reads.
func TestCacheLines(t *testing.T) {
	const line = 64
	var g Generator
	read := unsafe.Offsetof(g.term) + unsafe.Sizeof(g.term)
	last := unsafe.Offsetof(g.last)
	counters := min(unsafe.Offsetof(g.skipped), unsafe.Offsetof(g.issued), unsafe.Offsetof(g.waits))
	require.GreaterOrEqual(t, last-read, uintptr(line))
	require.GreaterOrEqual(t, counters-last, uintptr(line))
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Generator]()) {
		if f.Offset > last && f.Name != "_" {
			require.Contains(t, []string{"skipped", "issued", "waits"}, f.Name, "a field that is read stands among those that are written")
		}
	}
}
