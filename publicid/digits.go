package publicid

// alphabet has the digits of base 32 in ASCII order. It is Crockford's alphabet in lower case,
// without i, l, o and u.
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// values maps each digit to its value, and all other bytes to noDigit.
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

// checkOf returns the check character of the 13 digits of id. It uses the quasigroup method of
// Damm (2004) with x*y = 2(x+y) in the field of 32 elements with the polynomial x^5 + x^2 + 1.
// Each position has its own weight, so the character changes if one digit is wrong or any two
// are swapped.
func checkOf(id int64) byte {
	var sum byte
	for shift := 5 * (idDigits - 1); shift >= 0; shift -= 5 {
		sum ^= byte(id>>shift) & 31
		sum = sum<<1 ^ sum>>4*0b100101
	}
	return alphabet[sum&31]
}
