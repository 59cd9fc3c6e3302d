package publicid_test

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/publicid"
)

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// homoglyphs look like a digit or are typed for one.
var homoglyphs = map[byte]string{
	'0': "oOОοＯ０٠", '1': "iIlLІⅠ１|", '5': "S５", 'a': "аɑａ", 'b': "Ьｂ", 'c': "сⅽ", 'd': "ԁⅾ", 'e': "еℯ", 'g': "ɡ", 'h': "һ",
	'j': "ј", 'k': "κ", 'm': "ⅿ", 'n': "ո", 'p': "рρ", 'q': "ԛ", 'r': "г", 's': "ѕ", 't': "т", 'v': "νⅴuU", 'w': "ԝ", 'x': "хⅹ", 'y': "уү", 'z': "ᴢ",
}

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
		for _, r := range homoglyphs[text[i]] {
			try("a homoglyph", text[:i]+string(r)+text[i+1:])
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

// Any other block than that of an id is refused: the text has one form, and each bit counts.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	c := sealed(t, "ord", secret)
	for _, id := range someIDs {
		block := blockOf(t, encode(t, c, id))
		for i := range 128 {
			for j := range i + 1 {
				flipped := block
				flipped[i/8] ^= 1 << (i % 8)
				flipped[j/8] ^= 1 << (j % 8) // if j is i, that is the block itself
				got, err := c.Decode(textOf("ord", flipped))
				if i == j {
					require.NoError(t, err)
					require.Equal(t, id, got)
				} else if err == nil {
					t.Fatalf("bits %d and %d of %d flipped: %d", i, j, id, got)
				}
			}
			flipped := block
			flipped[i/8] ^= 1 << (i % 8)
			_, err := c.Decode(textOf("ord", flipped))
			require.Error(t, err)
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

// A text of any length is refused at once.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []*publicid.Codec{plain(t, "ord"), sealed(t, "ord", secret)} {
		good := encode(t, c, 5)
		for n := 1; n <= 1<<20; n *= 2 {
			for _, text := range []string{strings.Repeat("0", n), "ord_" + strings.Repeat("0", n+26), good + strings.Repeat("0", n), strings.Repeat("\xff", n), good + strings.Repeat("é", n)} {
				id, err := c.Decode(text)
				require.Error(t, err)
				require.Zero(t, id)
				require.Less(t, len(err.Error()), 350)
			}
		}
	}
}

// Sealed texts of consecutive ids look like random ones: no order, no shared beginnings, all
// digits equally often in each place, and half of the bits change.
func TestConsecutiveIDsLookRandom(t *testing.T) {
	t.Parallel()
	const n = 50_000
	c := sealed(t, "ord", secret)
	var (
		counts            [26][32]int
		rises, same, flip int
		longest           int
	)
	last := encode(t, c, 912338055136935935)
	for i := range int64(n) {
		text := encode(t, c, 912338055136935936+i)
		for place := range 26 {
			counts[place][strings.IndexByte(alphabet, text[4+place])]++
			if text[4+place] == last[4+place] {
				same++
			}
		}
		shared := 0
		for text[4+shared] == last[4+shared] {
			shared++
		}
		longest = max(longest, shared)
		if text > last {
			rises++
		}
		a, b := blockOf(t, text), blockOf(t, last)
		for k := range a {
			flip += bits.OnesCount8(a[k] ^ b[k])
		}
		last = text
	}
	require.InDelta(t, n/2, rises, 330) // five standard deviations
	require.LessOrEqual(t, longest, 5)
	require.InDelta(t, 64, float64(flip)/n, 0.15)
	require.InDelta(t, n*(25.0/32+1.0/8), same, 1000)
	for place, count := range counts {
		values := 32
		if place == 0 {
			values = 8
		}
		expected, chi := float64(n)/float64(values), 0.0
		for _, k := range count[:values] {
			chi += (float64(k) - expected) * (float64(k) - expected) / expected
		}
		require.Less(t, chi, 80.0, "place %d: %v", place, count)
	}
}

// blockOf returns the block of a text of 26 digits.
func blockOf(t testing.TB, text string) (block [16]byte) {
	t.Helper()
	var hi, lo uint64
	for _, digit := range []byte(text[len(text)-26:]) {
		hi, lo = hi<<5|lo>>59, lo<<5|uint64(strings.IndexByte(alphabet, digit))
	}
	binary.BigEndian.PutUint64(block[:], hi)
	binary.BigEndian.PutUint64(block[8:], lo)
	return block
}

// textOf returns the text of a block.
func textOf(prefix string, block [16]byte) string {
	hi, lo := binary.BigEndian.Uint64(block[:]), binary.BigEndian.Uint64(block[8:])
	digits := make([]byte, 26)
	for i := range digits {
		digits[25-i] = alphabet[lo&31]
		hi, lo = hi>>5, lo>>5|hi<<59
	}
	return prefix + "_" + string(digits)
}
