package hostseq

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var sample = record{Worker: 7, Token: 3, Mark: 1789000000123, Since: 1789000000000, Owner: [16]byte{1, 2, 15: 9}, Holder: "shop@host:17"}

func TestRecord(t *testing.T) {
	t.Parallel()
	long := sample
	long.Holder = strings.Repeat("h", 255)
	for _, r := range []record{{}, {Worker: 7}, sample, long} {
		b := r.encode()
		require.Len(t, b, recordSize)
		got, err := decode(b, r.Worker)
		require.NoError(t, err)
		require.Equal(t, r, got)
	}
	_, err := decode(sample.encode(), 8)
	require.ErrorContains(t, err, "worker id 7")
	for _, r := range []record{{Mark: -1}, {Token: -1}, {Since: -1}, {Mark: maxNumber}, {Token: math.MaxInt64}, {Since: math.MaxInt64}} {
		_, err := decode(r.encode(), 0)
		require.ErrorContains(t, err, "is not 0 to 999999999999998")
	}
}

// Any changed bit and any truncation of a record is detected.
func TestRecordDamage(t *testing.T) {
	t.Parallel()
	good := sample.encode()
	for bit := range recordSize * 8 {
		bad := append([]byte(nil), good...)
		bad[bit/8] ^= 1 << (bit % 8)
		_, err := decode(bad, 7)
		require.Error(t, err, "bit %d", bit)
	}
	for n := range recordSize {
		_, err := decode(good[:n], 7)
		require.Error(t, err, "%d bytes", n)
	}
}
