package rules

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// TestDamaged is about what leasetest cannot write into every store: the form of the record.
func TestDamaged(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for text, says := range map[string]string{
		`x`:                               "it is not the JSON of a record",
		`[]`:                              "it is not the JSON of a record",
		`{"format":1}`:                    "it has another format",
		`{"meta":{"format":2,"pin":"p"}}`: "its format is 2, not 1",
		`{"meta":{"format":1}}`:           "the pin is empty",
		`{"meta":null}`:                   "its format is 0",
		`{"meta":{"format":1,"pin":"p","quarantine":-1}}`:         "the quarantine is -1",
		`{"meta":{"format":1,"pin":"p","slots":4097}}`:            "it has 4097 slots",
		`{"meta":{"format":1,"pin":"p","slots":1,"lent":"AAAA"}}`: "it has 1 slots, and 3 bytes say which were lent",
		`{"meta":{"format":1,"pin":"` + long + `"}}`:              "the pin has more than 1024 bytes",
		`{"meta":{"format":1,"pin":"p","slots":4},"4":{}}`:        `there is a record "4" beyond the 4`,
		`{"x":{}}`:               `there is a record "x"`,
		`{"007":{}}`:             `there is a record "007"`,
		`{"4096":{}}`:            `there is a record "4096"`,
		`{"0":[]}`:               "it is not the JSON of a record",
		`{"0":{"mark":1e17}}`:    "it is not the JSON of a record",
		`{"3":{"mark":-1}}`:      "mark of worker id 3 is -1",
		`{"3":{"owner":"abcd"}}`: "owner of worker id 3",
		`{"3":{"owner":"0123456789abcdef0123456789abcdef00"}}`:      "owner of worker id 3",
		`{"3":{"owner":"0123456789abcdef0123456789abcdeg"}}`:        "owner of worker id 3",
		`{"3":{"holder":"` + long + `"}}`:                           "the holder of worker id 3 has 1048576 bytes",
		`{"3":{"owner":"` + strings.Repeat(`\u001b`, 1<<16) + `"}}`: "owner of worker id 3",
	} {
		_, err := Decode([]byte(text))
		require.ErrorIs(t, err, lease.ErrDamaged, "%.100s", text)
		require.ErrorContains(t, err, says, "%.100s", text)
		require.Less(t, len(err.Error()), 1500)
		require.NotContains(t, err.Error(), "\x1b")
	}
}

func TestNumbersOfRecords(t *testing.T) {
	t.Parallel()
	for n, valid := range map[int64]bool{-1: false, 0: true, limit - 1: true, limit: false} {
		require.Equal(t, valid, CheckNumber("ver", n) == nil)
		require.Equal(t, valid, Meta{Pin: lease.ParsePin("p"), Quarantine: n}.Check() == nil)
		for field, s := range map[string]Slot{"token": {Token: n}, "since": {Since: n}, "floor": {Floor: n}, "expires": {Expires: n}, "mark": {Mark: n}} {
			err := s.Check(7)
			require.Equal(t, valid, err == nil)
			if err != nil {
				require.ErrorContains(t, err, field+" of worker id 7 is ")
			}
		}
	}
	require.NoError(t, CheckGiven("max_id", 1<<62))
	require.ErrorIs(t, CheckGiven("max_id", -1), lease.ErrDamaged)
	require.NoError(t, Slot{Holder: strings.Repeat("x", lease.MaxHolder)}.Check(0))
}
