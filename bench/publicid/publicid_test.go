// Package publicid measures the texts of ids beside those of other libraries:
//
//	go test -run '^$' -bench . -count 7 ./publicid
package publicid

import (
	"testing"

	"github.com/google/uuid"
	"github.com/sqids/sqids-go"
	"github.com/stretchr/testify/require"
	"go.jetify.com/typeid"

	"github.com/snowlease/snowlease/publicid"
	"github.com/snowlease/snowlease/snowflake"
)

const id = 912338055136935936

// A way writes an id as text, and reads it.
type way struct {
	name   string
	encode func() (string, error)
	decode func(text string) error
}

type orderPrefix struct{}

func (orderPrefix) Prefix() string { return "ord" }

type orderID struct{ typeid.TypeID[orderPrefix] }

func ways(tb testing.TB) []way {
	ours := func(name string, c *publicid.Codec, err error) way {
		require.NoError(tb, err)
		return way{name, func() (string, error) { return c.Encode(id) }, func(text string) error {
			_, err := c.Decode(text)
			return err
		}}
	}
	plain, err := publicid.New("ord")
	first := ours("publicid/plain", plain, err)
	sealed, err := publicid.NewSealed("ord", []byte("a secret of the tests, 32 bytes."))
	second := ours("publicid/sealed", sealed, err)
	u, err := uuid.NewV7()
	require.NoError(tb, err)
	typed, err := typeid.FromUUIDBytes[orderID](u[:])
	require.NoError(tb, err)
	s, err := sqids.New(sqids.Options{MinLength: 13})
	require.NoError(tb, err)
	return []way{
		first, second,
		{"snowflake.ID", func() (string, error) { return snowflake.ID(id).String(), nil }, func(text string) error {
			_, err := snowflake.ParseID(text, 10)
			return err
		}},
		{"google.uuid", func() (string, error) { return u.String(), nil }, func(text string) error {
			_, err := uuid.Parse(text)
			return err
		}},
		{"jetify.typeid", func() (string, error) { return typed.String(), nil }, func(text string) error {
			_, err := typeid.Parse[orderID](text)
			return err
		}},
		{"sqids", func() (string, error) { return s.Encode([]uint64{id}) }, func(text string) error {
			if got := s.Decode(text); len(got) != 1 || got[0] != id {
				tb.Error("another id")
			}
			return nil
		}},
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, w := range ways(b) {
		b.Run(w.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.encode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, w := range ways(b) {
		b.Run(w.name, func(b *testing.B) {
			text, err := w.encode()
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if err := w.decode(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What is measured works.
func TestWays(t *testing.T) {
	for _, w := range ways(t) {
		text, err := w.encode()
		require.NoError(t, err, w.name)
		require.NoError(t, w.decode(text), w.name)
	}
}
