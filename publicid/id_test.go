package publicid_test

import (
	"bytes"
	"cmp"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/gob"
	"encoding/json"
	"fmt"
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
		for _, err := range []error{read.UnmarshalText([]byte(text)), read.UnmarshalParam(text)} {
			var fault *publicid.ParseError
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

// Gob writes the text; %#v shows the number.
func TestIDInGob(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	ids, read := []orderID{someID, 0}, []orderID{1}
	require.NoError(t, gob.NewEncoder(&out).Encode(ids))
	require.Contains(t, out.String(), someText)
	require.NoError(t, gob.NewDecoder(&out).Decode(&read))
	require.Equal(t, ids, read)
	require.Equal(t, "912338055136935936", fmt.Sprintf("%#v", ids[0]))
}

func TestIDScanAndValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		src  any
		want orderID
		err  string
	}{
		{src: int64(7), want: 7},
		{src: []byte("12"), want: 12},
		{src: int64(-1), err: "-1 is negative"},
		{src: "9223372036854775808", err: "above 2^63-1"},
		{src: someText, err: "is no digit"},
		{src: nil, err: "scan into *ID or sql.Null[ID]"},
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
