package lease

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// An Owner is the random nonce of one borrow, by which a center knows it again: repeat Acquire
// with the same Owner if the answer was lost. Never reuse an Owner after releasing its grant: a
// delayed release would free the new one.
type Owner [16]byte

// NewOwner returns a random Owner. It mixes in the time, because copies of a virtual machine can
// share the state of their random generators.
func NewOwner() (o Owner) {
	_, _ = rand.Read(o[:]) // never fails: see crypto/rand
	half := o[8:]
	binary.LittleEndian.PutUint64(half, binary.LittleEndian.Uint64(half)^uint64(time.Now().UnixNano()))
	return o
}

// change returns what tells a change of a pin that the borrow began from others: see PinChange.At.
func (o Owner) change() int64 { return -int64(binary.LittleEndian.Uint32(o[8:])) }
