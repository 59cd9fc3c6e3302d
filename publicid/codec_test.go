package publicid_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/publicid"
)

const (
	secret = "a secret of the tests, 32 bytes."
	second = "another one of the tests, longer."
)

func plain(t testing.TB, prefix string) *publicid.Codec {
	c, err := publicid.New(prefix)
	require.NoError(t, err)
	return c
}

func sealed(t testing.TB, prefix string, secrets ...string) *publicid.Codec {
	var older [][]byte
	for _, s := range secrets[1:] {
		older = append(older, []byte(s))
	}
	c, err := publicid.NewSealed(prefix, []byte(secrets[0]), older...)
	require.NoError(t, err)
	return c
}

func encode(t testing.TB, c *publicid.Codec, id int64) string {
	text, err := c.Encode(id)
	require.NoError(t, err)
	return text
}

// someIDs has ids of all sizes, and what the default layout makes.
var someIDs = []int64{1, 2, 31, 32, 33, 1<<53 - 1, 1 << 53, 912338055136935936, 912338055136935937, 1<<62 + 1, math.MaxInt64 - 1, math.MaxInt64}

func TestCodec(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		codec  *publicid.Codec
		digits int
	}{{plain(t, "ord"), 14}, {sealed(t, "ord", secret), 26}, {plain(t, "a"), 14}, {sealed(t, strings.Repeat("k", 32), secret, second), 26}, {plain(t, "sk_test_2"), 14}} {
		seen, last := map[string]bool{}, ""
		for _, id := range someIDs {
			text := encode(t, c.codec, id)
			require.Regexp(t, fmt.Sprintf(`^[a-z][a-z0-9_]*_[0-7][0-9a-hjkmnp-tv-z]{%d}$`, c.digits-1), text)
			require.False(t, seen[text])
			seen[text] = true
			back, err := c.codec.Decode(text)
			require.NoError(t, err)
			require.Equal(t, id, back)
			used, err := c.codec.AppendEncode(bytes.Repeat([]byte("x"), 100)[:0], id)
			require.NoError(t, err)
			require.Equal(t, text, string(used))
			longer, err := c.codec.AppendEncode([]byte("/orders/"), id)
			require.NoError(t, err)
			require.Equal(t, "/orders/"+text, string(longer))
			require.True(t, c.digits == 26 || text > last, "plain texts sort like their ids")
			last = text
		}
	}
}

func TestConstructorsRefuse(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]string{
		"":                      `prefix "" has 0 characters: use 1 to 32`,
		strings.Repeat("a", 33): "has 33 characters",
		"Ord":                   `character 'O' at 0`,
		"1a":                    `character '1' at 0`,
		"_a":                    `character '_' at 0`,
		"ord_":                  `character '_' at 3`,
		"or-d":                  `character '-' at 2: use a-z, 0-9 and _`,
		"ör":                    "at 0",
	} {
		_, err := publicid.New(prefix)
		require.ErrorContains(t, err, want)
		_, err = publicid.NewSealed(prefix, []byte(secret))
		require.ErrorContains(t, err, want)
		require.Less(t, len(err.Error()), 250)
	}
	for _, secrets := range [][][]byte{{nil}, {[]byte(secret[1:])}, {[]byte(secret), []byte("short-and-secret")}} {
		_, err := publicid.NewSealed("ord", secrets[0], secrets[1:]...)
		require.ErrorContains(t, err, fmt.Sprintf("secret %d of prefix ord has %d bytes: use at least 32", len(secrets), len(secrets[len(secrets)-1])))
		require.NotContains(t, err.Error(), "short-and")
	}
	for broken, want := range map[string]string{
		secret + "\n":                         "has line breaks",
		secret + "\r\n":                       "has line breaks",
		secret + "\n" + secret:                "has line breaks",
		"${ORDER_ID_SECRET_OF_THE_WEB_SHOP}":  `has "${"`,
		string(make([]byte, 32)):              "has 1 different bytes: use at least 8",
		strings.Repeat("a", 64):               "has 1 different bytes",
		strings.Repeat("secret", 6):           "has 5 different bytes",
		strings.Repeat("\x00\xff\x01\n\r", 8): "has 5 different bytes",
	} {
		_, err := publicid.NewSealed("ord", []byte(secret), []byte(broken))
		require.ErrorContains(t, err, "secret 2 of prefix ord "+want)
		require.NotContains(t, err.Error(), broken)
	}
	_, err := publicid.NewSealed("ord", []byte("\x01\x02\x03\x04\x05\x06${\n"+strings.Repeat("\x07", 32)))
	require.NoError(t, err, "random bytes")
	require.PanicsWithError(t, `publicid: prefix "" has 0 characters: use 1 to 32`, func() { publicid.Must(publicid.New("")) })
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	good, closed := encode(t, plain(t, "ord"), someIDs[7]), encode(t, sealed(t, "ord", secret), someIDs[7])
	for _, c := range []struct {
		codec      *publicid.Codec
		text, want string
	}{
		{plain(t, "ord"), "", `"" is not an id of kind ord: it does not begin with "ord_"`},
		{plain(t, "ord"), "912338055136935936", `does not begin with "ord_"`},
		{plain(t, "cus"), good, `does not begin with "cus_"`},
		{plain(t, "ord"), "ord_", `0 characters follow "ord_" instead of 14`},
		{plain(t, "ord"), good + "0", `15 characters follow`},
		{plain(t, "ord"), closed, "it is sealed, and this codec has no secret"},
		{sealed(t, "ord", secret), good, "it is not sealed"},
		{sealed(t, "ord", secret), closed + "0", `27 characters follow "ord_" instead of 26`},
		{plain(t, "ord"), "ord_" + strings.Repeat("0", 14), "it is zero"},
		{plain(t, "ord"), "ord_8" + strings.Repeat("0", 13), "digit '8' at 4 is above 7"},
		{sealed(t, "ord", secret), "ord_z" + strings.Repeat("0", 25), "digit 'z' at 4 is above 7"},
		{plain(t, "ord"), strings.ToUpper(good), "does not begin with"},
		{plain(t, "ord"), "ord_0SAA6M2DR40006", "character 'S' at 5 is not one of 0123456789abcdefghjkmnpqrstvwxyz"},
		{plain(t, "ord"), "ord_о0000000000000"[:18], "character 'о' at 4"},
		{plain(t, "ord"), good[:17] + "u", "character 'u' at 17"},
		{plain(t, "ord"), good[:17] + "7", "check character"},
		{sealed(t, "ord", second), closed, "no secret opens it"},
		{sealed(t, "ord", secret), "ord_" + strings.Repeat("a", 1<<20), "(1048580 bytes)"},
	} {
		id, err := c.codec.Decode(c.text)
		require.ErrorContains(t, err, c.want)
		require.Zero(t, id)
		var fault *publicid.ParseError
		require.ErrorAs(t, err, &fault)
		require.Contains(t, err.Error(), fault.Reason)
		require.True(t, strings.HasPrefix(c.text, fault.Text) && len(fault.Text) <= 40)
		require.Less(t, len(err.Error()), 300)
		require.NotContains(t, err.Error(), secret)
	}
}

// Numbers that are no ids have no text, and a Codec that no constructor made has none for
// any.
func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	for _, id := range []int64{0, -1, math.MinInt64} {
		for _, c := range []*publicid.Codec{plain(t, "ord"), sealed(t, "ord", secret)} {
			text, err := c.Encode(id)
			require.ErrorIs(t, err, publicid.ErrID)
			require.ErrorContains(t, err, fmt.Sprint("an id is positive, not ", id))
			require.Empty(t, text)
			dst, err := c.AppendEncode([]byte("x"), id)
			require.ErrorIs(t, err, publicid.ErrID)
			require.Equal(t, "x", string(dst))
		}
	}
	for _, c := range []*publicid.Codec{nil, {}} {
		text, err := c.Encode(1)
		require.ErrorIs(t, err, publicid.ErrCodec)
		require.Empty(t, text)
		id, err := c.Decode("ord_0saa6m2dr40006")
		require.ErrorIs(t, err, publicid.ErrCodec)
		require.Zero(t, id)
	}
}

// All secrets read, the first one writes.
func TestRotation(t *testing.T) {
	t.Parallel()
	before, after, both := sealed(t, "ord", secret), sealed(t, "ord", second), sealed(t, "ord", second, secret)
	for _, id := range someIDs {
		old, fresh := encode(t, before, id), encode(t, after, id)
		require.NotEqual(t, old, fresh)
		require.Equal(t, fresh, encode(t, both, id))
		for _, text := range []string{old, fresh} {
			got, err := both.Decode(text)
			require.NoError(t, err)
			require.Equal(t, id, got)
		}
		_, err := after.Decode(old)
		require.ErrorContains(t, err, "no secret opens it")
	}
}

// What is printed of a codec has no secret and no key.
func TestCodecKeepsItsSecret(t *testing.T) {
	t.Parallel()
	c := sealed(t, "ord", secret)
	var texts []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t", "%c"} {
		texts = append(texts, fmt.Sprintf(verb, c), fmt.Sprintf(verb, *c))
	}
	key := keyOf(t, "ord", secret)
	for _, text := range texts {
		for _, form := range []string{
			secret, fmt.Sprintf("%x", secret), fmt.Sprintf("%d", []byte(secret)), fmt.Sprintf("%x", key), fmt.Sprintf("%d", key),
			fmt.Sprint(binary.BigEndian.Uint32(key)), fmt.Sprint(binary.LittleEndian.Uint32(key)),
		} {
			require.NotContains(t, text, form)
		}
	}
}
