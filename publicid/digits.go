package publicid

// alphabet has the digits of base 32 in ASCII order. It is Crockford's, in lower case: no
// i, l, o and u.
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// values has the value of each digit, and noDigit for all other bytes.
var values = func() (v [256]byte) {
	for i := range v {
		v[i] = noDigit
	}
	for i := range len(alphabet) {
		v[alphabet[i]] = byte(i)
	}
	return v
}()

const noDigit = 0xff

// putDigits fills dst with the last digits of n.
func putDigits(dst []byte, n uint64) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = alphabet[n&31]
		n >>= 5
	}
}

// checkOf returns the check character of the 13 digits of id. It is the quasigroup method of
// Damm (2004) with x*y = 2(x+y) in the field of 32 elements, whose polynomial is
// x^5 + x^2 + 1. So each place has a weight of its own, and the character changes if one
// digit is wrong or if any two are swapped.
func checkOf(id int64) byte {
	var sum byte
	for shift := 5 * (idDigits - 1); shift >= 0; shift -= 5 {
		sum ^= byte(id>>shift) & 31
		sum = sum<<1 ^ sum>>4*0b100101
	}
	return alphabet[sum&31]
}
