// Package texts_test compares writing and reading ids as text with google/uuid and
// typeid-go.
package texts_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.jetify.com/typeid"

	"github.com/snowlease/snowlease/publicid"
	"github.com/snowlease/snowlease/snowflake"
)

type (
	order    struct{ ID, Buyer int64 }
	customer struct{ ID int64 }

	three[T any] struct{ ID, Buyer, After T }
)

var (
	customerIDs = publicid.Must(publicid.New("cus"))
	orderIDs    = publicid.Must(publicid.NewSealed("ord", []byte("a secret of the tests, 32 bytes.")))
)

func (order) Codec() *publicid.Codec    { return orderIDs }
func (customer) Codec() *publicid.Codec { return customerIDs }

const (
	id     = 912338055136935936
	plain  = publicid.ID[customer](id)
	sealed = publicid.ID[order](id)
	number = snowflake.ID(id)
)

// BenchmarkTexts reports a median time, its ratios to the peers in the same turns, and
// allocations.
func BenchmarkTexts(b *testing.B) {
	u, typed := must(uuid.NewV7()), must(typeid.WithPrefix("cus"))
	uText, tText, pText, sText, nText := u.String(), typed.String(), plain.String(), sealed.String(), number.String()
	buf := make([]byte, 0, 64)
	write := []func(){func() { _ = u.String() }, func() { _ = typed.String() }}
	read := []func(){func() { must(uuid.Parse(uText)) }, func() { must(typeid.FromString(tText)) }}
	// A struct of strings has to get them from the ids first.
	strings := []func(){
		func() { must(json.Marshal(three[string]{u.String(), u.String(), u.String()})) },
		func() { must(json.Marshal(three[string]{typed.String(), typed.String(), typed.String()})) },
	}
	unmarshal := func(text []byte, v any) func() {
		return func() {
			if err := json.Unmarshal(text, v); err != nil {
				b.Fatal(err)
			}
		}
	}
	texts := []func(){
		unmarshal(must(json.Marshal(three[string]{uText, uText, uText})), new(three[string])),
		unmarshal(must(json.Marshal(three[string]{tText, tText, tText})), new(three[string])),
	}
	for _, r := range []struct {
		name  string
		ours  func()
		peers []func()
	}{
		{"encode/plain", func() { must(customerIDs.Encode(id)) }, write},
		{"encode/plain publicid.ID", func() { _ = plain.String() }, write},
		{"encode/plain AppendText", func() { must(plain.AppendText(buf)) }, write},
		{"encode/sealed", func() { must(orderIDs.Encode(id)) }, write},
		{"encode/sealed AppendText", func() { must(sealed.AppendText(buf)) }, write},
		{"encode/snowflake.ID", func() { _ = number.String() }, write},
		{"decode/plain", func() { must(customerIDs.Decode(pText)) }, read},
		{"decode/sealed", func() { must(orderIDs.Decode(sText)) }, read},
		{"decode/snowflake.ParseID", func() { must(snowflake.ParseID(nText)) }, read},
		{"JSON of three/plain", func() { must(json.Marshal(three[publicid.ID[customer]]{plain, plain, plain})) }, strings},
		{"JSON of three/sealed", func() { must(json.Marshal(three[publicid.ID[order]]{sealed, sealed, sealed})) }, strings},
		{"JSON of three/snowflake.ID", func() { must(json.Marshal(three[snowflake.ID]{number, number, number})) }, strings},
		{"from JSON/plain", unmarshal(must(json.Marshal(three[publicid.ID[customer]]{plain, plain, plain})), new(three[publicid.ID[customer]])), texts},
		{"from JSON/sealed", unmarshal(must(json.Marshal(three[publicid.ID[order]]{sealed, sealed, sealed})), new(three[publicid.ID[order]])), texts},
		{"from JSON/snowflake.ID", unmarshal(must(json.Marshal(three[snowflake.ID]{number, number, number})), new(three[snowflake.ID])), texts},
	} {
		b.Run(r.name, func(b *testing.B) {
			names := []string{"ns", "of-uuid", "of-typeid"}
			runs := append([]func(){r.ours}, r.peers...)
			took := make([][]float64, len(runs))
			for b.Loop() {
				times := make([]float64, len(runs))
				for i, run := range runs {
					const calls = 500
					start := time.Now()
					for range calls {
						run()
					}
					times[i] = float64(time.Since(start).Nanoseconds()) / calls
				}
				took[0] = append(took[0], times[0])
				for i := 1; i < len(runs); i++ {
					took[i] = append(took[i], times[0]/times[i])
				}
			}
			for i, name := range names {
				slices.Sort(took[i])
				b.ReportMetric(took[i][len(took[i])/2], name)
			}
			b.ReportMetric(0, "ns/op") // of a turn
			b.ReportMetric(testing.AllocsPerRun(100, r.ours), "allocs")
			b.ReportMetric(testing.AllocsPerRun(100, r.peers[0]), "allocs-uuid")
			b.ReportMetric(testing.AllocsPerRun(100, r.peers[1]), "allocs-typeid")
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
