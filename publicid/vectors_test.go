package publicid_test

import (
	"bytes"
	"crypto/aes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/publicid"
)

var update = flag.Bool("update", false, "write testdata/vectors.json")

// vectors are what every implementation must agree with. A vector without secrets is plain.
type vectors struct {
	Texts []struct {
		Prefix  string   `json:"prefix"`
		Secrets []string `json:"secrets,omitempty"` // as UTF-8
		ID      int64    `json:"id,string"`
		Key     string   `json:"key,omitempty"`   // of the secret that sealed, in base 16
		Block   string   `json:"block,omitempty"` // enciphered, in base 16
		Text    string   `json:"text"`
	} `json:"texts"`
	Refused []struct {
		Prefix  string   `json:"prefix"`
		Secrets []string `json:"secrets,omitempty"`
		Text    string   `json:"text"`
		Why     string   `json:"why"`
	} `json:"refused"`
}

func codecOf(t testing.TB, prefix string, secrets []string) *publicid.Codec {
	if len(secrets) == 0 {
		return plain(t, prefix)
	}
	return sealed(t, prefix, secrets...)
}

func keyOf(t testing.TB, prefix, secret string) []byte {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "snowlease publicid v1 "+prefix, 32)
	require.NoError(t, err)
	return key
}

// TestVectors checks the vectors in both directions, and what they show of the way. Its
// arithmetic is that of docs/design/publicid.md, not that of the package.
//
//	go test ./publicid -run TestVectors -update
func TestVectors(t *testing.T) {
	t.Parallel()
	const file = "testdata/vectors.json"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var all vectors
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&all))
	for i := range all.Texts {
		v := &all.Texts[i]
		c := codecOf(t, v.Prefix, v.Secrets)
		if *update && v.Text == "" {
			v.Text = encode(t, c, v.ID)
		}
		got, err := c.Decode(v.Text)
		require.NoError(t, err)
		require.Equal(t, v.ID, got)
		seal := -1 // the secret that makes the text
		for i, s := range v.Secrets {
			if encode(t, sealed(t, v.Prefix, s), v.ID) == v.Text {
				seal = i
			}
		}
		if len(v.Secrets) == 0 {
			require.Equal(t, v.Text, encode(t, c, v.ID))
			require.Equal(t, v.Prefix+"_"+base32(big.NewInt(v.ID), 13), v.Text[:len(v.Text)-1])
			continue
		}
		require.NotEqual(t, -1, seal)
		key := keyOf(t, v.Prefix, v.Secrets[seal])
		cipher, err := aes.NewCipher(key)
		require.NoError(t, err)
		block := binary.BigEndian.AppendUint64(make([]byte, 8), uint64(v.ID))
		cipher.Encrypt(block, block)
		if *update {
			v.Key, v.Block = hex.EncodeToString(key), hex.EncodeToString(block)
		}
		require.Equal(t, v.Key, hex.EncodeToString(key))
		require.Equal(t, v.Block, hex.EncodeToString(block))
		require.Equal(t, v.Prefix+"_"+base32(new(big.Int).SetBytes(block), 26), v.Text)
	}
	for _, v := range all.Refused {
		id, err := codecOf(t, v.Prefix, v.Secrets).Decode(v.Text)
		require.Error(t, err, "%s: %s", v.Why, v.Text)
		require.Zero(t, id)
	}
	require.Greater(t, len(all.Texts), 10)
	require.Greater(t, len(all.Refused), 10)
	if *update {
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetIndent("", "  ")
		require.NoError(t, e.Encode(all))
		require.NoError(t, os.WriteFile(file, out.Bytes(), 0o644))
	}
}

// base32 writes n with digits digits of Crockford's alphabet.
func base32(n *big.Int, digits int) string {
	text := strings.Map(func(r rune) rune {
		return rune("0123456789abcdefghjkmnpqrstvwxyz"[strings.IndexRune("0123456789abcdefghijklmnopqrstuv", r)])
	}, n.Text(32))
	return strings.Repeat("0", digits-len(text)) + text
}
