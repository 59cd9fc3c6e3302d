package publicid_test

import (
	"crypto/sha256"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/publicid"
)

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// changed calls try with what becomes of a text by one mistake or by tampering with it.
func changed(text, head string, try func(what, text string)) {
	at := len(head)
	for i := range len(text) {
		for _, with := range []byte(alphabet + "_-. ilouA\x00\xff") {
			if with != text[i] {
				try("another character", text[:i]+string(with)+text[i+1:])
			}
			try("one more character", text[:i]+string(with)+text[i:])
		}
		try("cut off", text[:i])
		try("without its beginning", text[i+1:])
		try("one character less", text[:i]+text[i+1:])
		if upper := strings.ToUpper(text[i : i+1]); upper != text[i:i+1] {
			try("upper case", text[:i]+upper+text[i+1:])
		}
		for j := range i {
			if text[i] != text[j] {
				swapped := []byte(text)
				swapped[i], swapped[j] = swapped[j], swapped[i]
				try("two are swapped", string(swapped))
			}
		}
		for _, with := range []byte(alphabet) {
			if i > at && text[i] == text[i-1] && with != text[i] {
				try("twins are mistyped", text[:i-1]+strings.Repeat(string(with), 2)+text[i+1:])
			}
		}
	}
	try("upper case", strings.ToUpper(text))
	try("twice", text+text)
	for _, blank := range []string{" ", "\n", "\t", "\x00", "\u200b", "\ufeff"} {
		try("a blank", text+blank)
		try("a blank", blank+text)
	}
	for _, prefix := range []string{"", "cus", "or", "orde", "Ord", "ord_ord"} {
		try("another prefix", prefix+"_"+text[at:])
	}
}

// What differs from a text by one mistake is refused, whether plain or sealed.
func TestChangedTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []*publicid.Codec{plain(t, "ord"), sealed(t, "ord", secret), sealed(t, "ord", second, secret)} {
		for _, id := range someIDs {
			text := encode(t, c, id)
			changed(text, "ord_", func(what, with string) {
				got, err := c.Decode(with)
				if err == nil || got != 0 {
					t.Fatalf("%s: %q for %q is read as %d", what, with, text, got)
				}
			})
		}
	}
}

// A sealed text opens under its prefix and its secret only. A plain one shows its id to
// everyone, who can write another prefix before it.
func TestAnotherPrefixOrSecret(t *testing.T) {
	t.Parallel()
	for id := int64(1); id < 2000; id++ {
		text := encode(t, sealed(t, "ord", secret), id<<40)
		for _, other := range []*publicid.Codec{sealed(t, "cus", secret), sealed(t, "or", secret), sealed(t, "ord_x", secret), sealed(t, "ord", second)} {
			head := encode(t, other, 1)
			_, err := other.Decode(head[:len(head)-26] + text[4:])
			require.Error(t, err)
		}
	}
	got, err := plain(t, "cus").Decode("cus" + encode(t, plain(t, "ord"), 5)[3:])
	require.NoError(t, err)
	require.EqualValues(t, 5, got)
}

// random returns a source of texts that are the same in each run.
func random(seed string) *rand.Rand { return rand.New(rand.NewChaCha8(sha256.Sum256([]byte(seed)))) }

// randomTexts counts how many of n random texts of the right form are read.
func randomTexts(c *publicid.Codec, digits, n int, rnd *rand.Rand) (read int) {
	text := []byte("ord_" + strings.Repeat("0", digits))
	for range n {
		for i := range digits {
			text[4+i] = alphabet[rnd.Uint32()&31]
		}
		text[4] = alphabet[rnd.Uint32()&7]
		if id, err := c.Decode(string(text)); err == nil && id > 0 {
			read++
		}
	}
	return read
}

// A made-up text is no id if sealed. Of plain ones, the check character refuses all but one
// in 32.
func TestRandomTexts(t *testing.T) {
	t.Parallel()
	require.Zero(t, randomTexts(sealed(t, "ord", secret, second), 26, 200_000, random("sealed")))
	require.InDelta(t, 200_000/32, randomTexts(plain(t, "ord"), 14, 200_000, random("plain")), 400)
}
