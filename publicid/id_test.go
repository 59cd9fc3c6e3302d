package publicid_test

import (
	"bytes"
	"cmp"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/gob"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/publicid"
)

// The kinds of the tests: orders are sealed, customers plain, and the rest have no codec.
type (
	order    struct{ ID orderID }
	customer struct{}
	bare     struct{}
	anyKind  interface{ publicid.Kind }

	orderID    = publicid.ID[order]
	customerID = publicid.ID[customer]
)

var (
	orderIDs    = publicid.Must(publicid.NewSealed("ord", []byte(secret)))
	customerIDs = publicid.Must(publicid.New("cus"))
)

func (order) Codec() *publicid.Codec    { return orderIDs }
func (customer) Codec() *publicid.Codec { return customerIDs }
func (bare) Codec() *publicid.Codec     { return nil }

var (
	_ encoding.TextMarshaler   = orderID(0)
	_ encoding.TextUnmarshaler = (*orderID)(nil)
	_ json.Marshaler           = orderID(0)
	_ driver.Valuer            = orderID(0)
	_ sql.Scanner              = (*orderID)(nil)
)

const (
	someID   = 912338055136935936
	someText = "ord_36mwvs7er4ssmnnmzc1g4fzdwm"
	someCust = "cus_0saa6m2dr40006"
)

func TestIDText(t *testing.T) {
	t.Parallel()
	id := orderID(someID)
	require.Equal(t, someText, id.String())
	require.Equal(t, someText+" "+someText+" [912338055136935936]", fmt.Sprintf("%v %s %d", id, id, []orderID{id}))
	require.Empty(t, orderID(0).String())
	text, err := orderID(0).MarshalText()
	require.NoError(t, err)
	require.Equal(t, []byte{}, text)
	parsed, err := publicid.Parse[order](someText)
	require.NoError(t, err)
	require.Equal(t, id, parsed)
	require.Equal(t, -1, cmp.Compare(id, id+1))

	_, err = orderID(-5).MarshalText()
	require.ErrorIs(t, err, publicid.ErrID)
	require.Equal(t, "(publicid: an id is positive, not -5)", orderID(-5).String())
	for _, text := range []string{"", someCust, "912338055136935936", strings.ToUpper(someText)} {
		read := orderID(7)
		for _, err := range []error{read.UnmarshalText([]byte(text)), read.UnmarshalParam(text), read.UnmarshalGQLContext(t.Context(), text)} {
			var fault *publicid.TextError
			require.ErrorAs(t, err, &fault)
			require.Equal(t, "ord", fault.Prefix)
		}
		require.EqualValues(t, 7, read, "a failed read changes nothing")
	}
}

// Without a codec there is an error, and neither a text nor a panic.
func TestIDWithoutCodec(t *testing.T) {
	t.Parallel()
	check := func(text fmt.Stringer, marshal func() ([]byte, error), parse error) {
		t.Helper()
		require.Contains(t, text.String(), "(publicid: no codec: ")
		require.NotContains(t, text.String(), "5")
		b, err := marshal()
		require.ErrorIs(t, err, publicid.ErrCodec)
		require.Empty(t, b)
		require.ErrorIs(t, parse, publicid.ErrCodec)
	}
	check(publicid.ID[bare](5), publicid.ID[bare](5).MarshalText, new(publicid.ID[bare]).UnmarshalText([]byte(someText)))
	check(publicid.ID[*order](5), publicid.ID[*order](5).MarshalText, new(publicid.ID[*order]).UnmarshalText([]byte(someText)))
	check(publicid.ID[publicid.Kind](5), publicid.ID[publicid.Kind](5).MarshalJSON, new(publicid.ID[publicid.Kind]).UnmarshalText([]byte(someText)))
	check(publicid.ID[anyKind](5), publicid.ID[anyKind](5).MarshalText, new(publicid.ID[anyKind]).UnmarshalText([]byte(someText)))
	_, err := json.Marshal(struct{ ID publicid.ID[bare] }{5})
	require.ErrorIs(t, err, publicid.ErrCodec)
}

func TestIDJSON(t *testing.T) {
	t.Parallel()
	type row struct {
		ID     orderID            `json:"id"`
		None   orderID            `json:"none"`
		Absent orderID            `json:"absent,omitempty"`
		Buyer  *customerID        `json:"buyer"`
		Nobody *customerID        `json:"nobody"`
		List   []customerID       `json:"list"`
		Map    map[orderID]string `json:"map"`
		Null   sql.Null[orderID]  `json:"null"`
	}
	buyer := customerID(someID)
	in := row{ID: someID, Buyer: &buyer, List: []customerID{1, someID}, Map: map[orderID]string{someID: "a"}}
	b, err := json.Marshal(in)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"`+someText+`","none":null,"buyer":"`+someCust+`","nobody":null,"list":["cus_00000000000012","`+someCust+`"],"map":{"`+someText+`":"a"},"null":{"V":null,"Valid":false}}`, string(b))
	var out row
	require.NoError(t, json.Unmarshal(b, &out))
	require.Equal(t, in, out)

	var escaped orderID
	require.NoError(t, json.Unmarshal([]byte(`"\u006frd`+someText[3:]+`"`), &escaped))
	require.EqualValues(t, int64(someID), escaped)
	for text, want := range map[string]string{
		`912338055136935936`: "cannot unmarshal number",
		`""`:                 "it does not begin with",
		`"5"`:                "it does not begin with",
		`"` + someCust + `"`: "it does not begin with \"ord_\"",
	} {
		id := orderID(7)
		require.ErrorContains(t, json.Unmarshal([]byte(text), &id), want, text)
		require.EqualValues(t, 7, id)
	}
	require.Error(t, json.Unmarshal([]byte(`{"912338055136935936":1}`), new(map[orderID]int)))
	id := orderID(7)
	require.NoError(t, json.Unmarshal([]byte(`null`), &id))
	require.EqualValues(t, 7, id, "null changes nothing, as for all types")
	_, err = json.Marshal(orderID(-5))
	require.ErrorIs(t, err, publicid.ErrID)
}

// What writes a TextMarshaler or a Stringer writes the text.
func TestIDInFlagsAndLogs(t *testing.T) {
	t.Parallel()
	var id orderID
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.TextVar(&id, "order", orderID(0), "")
	require.NoError(t, fs.Parse([]string{"-order", someText}))
	require.EqualValues(t, int64(someID), id)
	require.ErrorContains(t, fs.Parse([]string{"-order", someCust}), `it does not begin with "ord_"`)
	var out bytes.Buffer
	slog.New(slog.NewTextHandler(&out, nil)).Info("placed", "order", id)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("placed", "orders", []orderID{id})
	read := []orderID{1}
	require.NoError(t, gob.NewEncoder(&out).Encode([]orderID{id, 0}))
	require.Contains(t, out.String(), "order="+someText)
	require.Contains(t, out.String(), `"orders":["`+someText+`"]`)
	require.NotContains(t, out.String(), "912338055136935936")
	_, inGob, _ := bytes.Cut(out.Bytes(), []byte("]}\n"))
	require.Contains(t, string(inGob), someText)
	require.NoError(t, gob.NewDecoder(bytes.NewReader(inGob)).Decode(&read))
	require.Equal(t, []orderID{id, 0}, read)
	require.Equal(t, "912338055136935936", fmt.Sprintf("%#v", id))
}

func TestIDScanAndValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		src  any
		want orderID
		err  string
	}{
		{src: int64(7), want: 7},
		{src: int64(0), want: 0},
		{src: uint64(math.MaxInt64), want: math.MaxInt64},
		{src: []byte("12"), want: 12},
		{src: "12", want: 12},
		{src: int64(-1), err: "-1 is negative"},
		{src: "-1", err: "-1 is negative"},
		{src: uint64(math.MaxInt64 + 1), err: "9223372036854775808 is above 2^63-1"},
		{src: "9223372036854775808", err: "is not a number of 63 bits"},
		{src: someText, err: "is not a number of 63 bits: use BIGINT"},
		{src: []byte(strings.Repeat("x", 1000)), err: "is not a number"},
		{src: nil, err: "scan into *ID or sql.Null[ID]"},
		{src: 1.5, err: "cannot read an id from a column of float64: use BIGINT"},
	} {
		id := orderID(5)
		err := id.Scan(c.src)
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			require.Less(t, len(err.Error()), 150)
			require.EqualValues(t, 5, id)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, id)
	}
	v, err := orderID(7).Value()
	require.NoError(t, err)
	require.Equal(t, int64(7), v)
}
