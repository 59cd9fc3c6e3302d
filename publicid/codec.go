package publicid

import (
	"bytes"
	"crypto/aes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	idDigits    = 13 // for 63 bits, so the first digit is at most 7
	sealDigits  = 26 // for 128 bits, so the first digit is at most 7
	plainDigits = idDigits + 1

	maxPrefix    = 32
	minSecret    = 32
	minDifferent = 8 // bytes of a secret
)

// A Codec translates ids of one kind to public ids and back. Create it with New or NewSealed.
// It is safe for concurrent use.
type Codec struct {
	head string // the prefix and "_"

	// seal enciphers with the first secret, and each of open deciphers with one secret. Without
	// secrets they are nil. They are functions because package fmt would print a cipher.Block
	// with its key.
	seal func(dst, src []byte)
	open []func(dst, src []byte)
}

// New returns a Codec of plain public ids. They sort like their ids, and reveal the time,
// worker and sequence of an id to everyone.
//
// The prefix has 1 to 32 characters of a-z, 0-9 and "_". It begins with a letter and does not
// end with "_". Give each kind its own prefix.
func New(prefix string) (*Codec, error) {
	for i := range len(prefix) {
		c := prefix[i]
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && (c != '_' || i == len(prefix)-1)) {
			return nil, fmt.Errorf("publicid: prefix %.40q: character %q at %d: use a-z, 0-9 and _, beginning with a letter and not ending with _", prefix, c, i)
		}
	}
	if prefix == "" || len(prefix) > maxPrefix {
		return nil, fmt.Errorf("publicid: prefix %.40q has %d characters: use 1 to %d", prefix, len(prefix), maxPrefix)
	}
	return &Codec{head: prefix + "_"}, nil
}

// NewSealed returns a Codec of sealed public ids. They reveal only whether two ids are equal.
// The prefix is as for New.
//
// A secret has at least 32 bytes that nobody can guess, such as the output of "openssl rand
// -base64 32". It has at least 8 different bytes. A secret that is text contains neither "${"
// nor a line break, so remove the line break at the end of a file. The Codec does not keep
// secrets. Kinds may share a secret, because each prefix derives its own key.
//
// The Codec seals with the first secret, and also decodes public ids that were sealed with an
// older one. To replace a secret while several processes run, first add the new secret to all
// processes as the last one, then make it the first one, and remove the old secret when no
// public id that it sealed is in use.
func NewSealed(prefix string, secret []byte, older ...[]byte) (*Codec, error) {
	c, err := New(prefix)
	if err != nil {
		return nil, err
	}
	for i, s := range append([][]byte{secret}, older...) {
		if why := refusal(s); why != "" {
			return nil, fmt.Errorf("publicid: secret %d of prefix %s has %s", i+1, prefix, why)
		}
		key, err := hkdf.Key(sha256.New, s, nil, "snowlease publicid v1 "+prefix, 32)
		if err != nil {
			return nil, fmt.Errorf("publicid: derive the key of prefix %s: %w", prefix, err)
		}
		block, _ := aes.NewCipher(key) // fails only for keys of other sizes
		if i == 0 {
			c.seal = block.Encrypt
		}
		c.open = append(c.open, block.Decrypt)
	}
	return c, nil
}

// refusal returns what is wrong with a secret, or "". It checks more if the secret is text,
// because a random secret may have any bytes.
func refusal(secret []byte) string {
	text := !bytes.ContainsFunc(secret, func(r rune) bool { return (r < ' ' || r > '~') && r != '\n' && r != '\r' })
	different := len(slices.Compact(slices.Sorted(slices.Values(secret))))
	switch {
	case len(secret) < minSecret:
		return fmt.Sprintf("%d bytes: use at least %d random ones, as openssl rand -base64 32 makes", len(secret), minSecret)
	case text && bytes.ContainsAny(secret, "\r\n"): // a file and an environment variable would differ in them
		return "line breaks, as the end of a file: remove them"
	case text && bytes.Contains(secret, []byte("${")):
		return `"${", as a variable that nothing has replaced: set its value`
	case different < minDifferent:
		return fmt.Sprintf("%d different bytes: use at least %d, as openssl rand -base64 32 makes", different, minDifferent)
	}
	return ""
}

// Must returns c, and panics if err is not nil. It is for package variables:
//
//	var orderIDs = publicid.Must(publicid.New("ord"))
func Must(c *Codec, err error) *Codec {
	if err != nil {
		panic(err)
	}
	return c
}

// Encode returns the public id of id. It fails with ErrID if id is not positive, and with
// ErrCodec if c is nil.
func (c *Codec) Encode(id int64) (string, error) {
	if err := c.check(id); err != nil {
		return "", err
	}
	if c.seal != nil {
		return string(c.appendSealed(nil, id)), nil
	}
	var buf [maxPrefix + 1 + plainDigits]byte
	return string(c.appendPlain(buf[:0], id)), nil
}

// AppendEncode appends the public id of id to dst. It does not allocate if dst has room. Errors
// are those of Encode; on error, it returns dst unchanged.
func (c *Codec) AppendEncode(dst []byte, id int64) ([]byte, error) {
	if err := c.check(id); err != nil {
		return dst, err
	}
	if c.seal != nil {
		return c.appendSealed(dst, id), nil
	}
	return c.appendPlain(dst, id), nil
}

func (c *Codec) check(id int64) error {
	if c == nil || c.head == "" {
		return ErrCodec
	}
	if id <= 0 {
		return fmt.Errorf("%w, not %d", ErrID, id)
	}
	return nil
}

func (c *Codec) appendPlain(dst []byte, id int64) []byte {
	dst = append(slices.Grow(dst, len(c.head)+plainDigits), c.head...)
	end := len(dst) + idDigits
	putDigits(dst[len(dst):end], uint64(id))
	return append(dst[:end], checkOf(id))
}

func (c *Codec) appendSealed(dst []byte, id int64) []byte {
	dst = append(slices.Grow(dst, len(c.head)+sealDigits), c.head...)
	digits := dst[len(dst) : len(dst)+sealDigits]
	// The block is enciphered in the place of its digits, because a local array would escape.
	block := digits[:aes.BlockSize]
	clear(block[:8])
	binary.BigEndian.PutUint64(block[8:], uint64(id))
	c.seal(block, block)
	hi, lo := binary.BigEndian.Uint64(block), binary.BigEndian.Uint64(block[8:])
	putDigits(digits[14:], lo)
	putDigits(digits[2:14], hi<<4|lo>>60)
	putDigits(digits[:2], hi>>56)
	return dst[:len(dst)+sealDigits]
}

// Decode returns the id of a public id that Encode returned, for any of the secrets. It is
// strict: it accepts neither upper case, nor spaces, nor another prefix. It fails with a
// *ParseError, or with ErrCodec if c is nil.
func (c *Codec) Decode(text string) (int64, error) {
	if c == nil || c.head == "" {
		return 0, ErrCodec
	}
	id, reason := c.read(text)
	if reason != "" {
		const show = 40 // text may be untrusted input of any length
		return 0, &ParseError{Prefix: strings.TrimSuffix(c.head, "_"), Text: strings.Clone(text[:min(len(text), show)]), Reason: reason, size: len(text)}
	}
	return id, nil
}

// read returns the id of a public id, or the reason why text is not one.
func (c *Codec) read(text string) (id int64, reason string) {
	digits, ok := strings.CutPrefix(text, c.head)
	sealed, n := c.seal != nil, plainDigits
	if sealed {
		n = sealDigits
	}
	switch {
	case !ok:
		return 0, fmt.Sprintf("it does not begin with %q", c.head)
	case sealed && len(digits) == plainDigits:
		return 0, "it is not sealed"
	case !sealed && len(digits) == sealDigits:
		return 0, "it is sealed, and this codec has no secret"
	case len(digits) != n:
		return 0, fmt.Sprintf("%d characters follow %q instead of %d", len(digits), c.head, n)
	}
	var hi, lo uint64 // the number hi * 2^64 + lo
	for i := range len(digits) {
		v := values[digits[i]]
		switch {
		case v == noDigit:
			r, _ := utf8.DecodeRuneInString(digits[i:])
			return 0, fmt.Sprintf("character %q at %d is not one of %s", r, len(c.head)+i, alphabet)
		case i == 0 && v > 7:
			return 0, fmt.Sprintf("digit %q at %d is above 7", digits[0], len(c.head))
		}
		hi, lo = hi<<5|lo>>59, lo<<5|uint64(v)
	}
	if sealed {
		if id = c.opened(hi, lo); id == 0 {
			reason = "no secret opens it: it is mistyped or made up, or sealed with a secret that is not set"
		}
		return id, reason
	}
	id = int64(hi<<59 | lo>>5) // without the check character
	switch {
	case checkOf(id) != digits[idDigits]:
		reason = "its check character does not fit: it is mistyped"
	case id == 0:
		reason = "it is zero"
	}
	return id, reason
}

// opened returns the id in a block, or 0 if no secret opens it. It compares the zero bytes as
// one word, so that the time taken does not reveal how many of them match.
func (c *Codec) opened(hi, lo uint64) int64 {
	buf := make([]byte, 2*aes.BlockSize)
	sealed, block := buf[:aes.BlockSize], buf[aes.BlockSize:]
	binary.BigEndian.PutUint64(sealed, hi)
	binary.BigEndian.PutUint64(sealed[8:], lo)
	for _, open := range c.open {
		open(block, sealed)
		id := int64(binary.BigEndian.Uint64(block[8:]))
		if binary.BigEndian.Uint64(block) == 0 && id > 0 {
			return id
		}
	}
	return 0
}
