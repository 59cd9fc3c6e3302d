package lease

import "crypto/rand"

// NewOwner returns a random nonce for one borrow.
func NewOwner() (o [16]byte) {
	_, _ = rand.Read(o[:]) // never fails: see crypto/rand
	return o
}
