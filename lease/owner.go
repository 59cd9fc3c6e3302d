package lease

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// An Owner is the random nonce that identifies one borrow. If the answer was lost, repeat Acquire
// with the same Owner. Never reuse an Owner after releasing its grant: a delayed release would
// free the new grant.
type Owner [16]byte

// NewOwner returns a random Owner. It mixes in the time, because copies of a virtual machine can
// share the state of their random generators.
func NewOwner() (o Owner) {
	_, _ = rand.Read(o[:]) // never fails: see crypto/rand
	half := o[8:]
	binary.LittleEndian.PutUint64(half, binary.LittleEndian.Uint64(half)^uint64(time.Now().UnixNano()))
	return o
}

// change returns the number that identifies a pin change begun by this borrow: see PinChange.At.
func (o Owner) change() int64 { return -int64(binary.LittleEndian.Uint32(o[8:])) }
