package rules

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

func TestLongHolderIsCut(t *testing.T) {
	t.Parallel()
	ns := Namespace{Slots: []Slot{{Holder: strings.Repeat("x", 1<<20)}, {Holder: "a"}}}
	list := ns.List(1)
	require.Len(t, list[0].Holder, lease.MaxHolder)
	require.Equal(t, "a", list[1].Holder)
}

// A worker id far beyond the pool would make readers list all below it.
func TestWorkerIDBeyondEveryPool(t *testing.T) {
	t.Parallel()
	parts, err := Namespace{Slots: []Slot{{Holder: "a"}}}.Parts()
	require.NoError(t, err)
	for name, whole := range map[string]bool{"0": true, "4095": true, "4096": false, "1048575": false} {
		_, err := OfParts(map[string]string{name: parts["0"]})
		require.Equal(t, whole, err == nil, "%s: %v", name, err)
	}
	long, err := Namespace{Meta: Meta{Pin: lease.ParsePin("p")}, Slots: make([]Slot, MaxPool+1)}.Encode()
	require.NoError(t, err)
	_, err = Decode(long)
	require.ErrorContains(t, err, "it has 4097 slots")
}
