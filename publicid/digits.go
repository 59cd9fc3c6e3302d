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

// putDigits fills dst with the last digits of the number hi * 2^64 + lo.
func putDigits(dst []byte, hi, lo uint64) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = alphabet[lo&31]
		lo, hi = lo>>5|hi<<59, hi>>5
	}
}

// checkOf returns the check character of digits. It is the quasigroup method of Damm (2004)
// with x*y = 2(x+y) in the field of 32 elements, whose polynomial is x^5 + x^2 + 1. So each
// of up to 31 places has a weight of its own, and the character changes if one digit is
// wrong or if any two are swapped.
func checkOf[T string | []byte](digits T) byte {
	var sum byte
	for i := range len(digits) {
		sum ^= values[digits[i]]
		sum = sum<<1 ^ sum>>4*0b100101
	}
	return alphabet[sum]
}
