package lease

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// NewOwner returns a random nonce for one borrow. It mixes in the time, because copies of a
// virtual machine can share the state of their random generators.
func NewOwner() (o [16]byte) {
	_, _ = rand.Read(o[:]) // never fails: see crypto/rand
	half := o[8:]
	binary.LittleEndian.PutUint64(half, binary.LittleEndian.Uint64(half)^uint64(time.Now().UnixNano()))
	return o
}
