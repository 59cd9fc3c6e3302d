package leasetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease/leasetest"
)

// A contract on parts that lost nothing would show nothing.
func TestDropPart(t *testing.T) {
	t.Parallel()
	const slot, meta = `{"expires":1,"mark":1,"owner":"00","holder":"app","token":1}`, `{"format":1,"pin":"p","slots":2,"lent":"AQ=="}`
	for what, lost := range map[leasetest.Records]map[string]string{
		leasetest.OneSlot: {"meta": meta},
		leasetest.OneMark: {"meta": meta, "0": `{"expires":1,"mark":null,"owner":"00","holder":"app","token":1}`},
		leasetest.Owners:  {"meta": meta, "0": `{"expires":1,"mark":1}`},
		leasetest.Meta:    {"0": slot},
	} {
		values := map[string]string{"meta": meta, "0": slot}
		leasetest.DropPart(t, values, what)
		require.Len(t, values, len(lost))
		for name, text := range lost {
			require.JSONEq(t, text, values[name])
		}
	}
}
