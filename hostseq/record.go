package hostseq

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A record is the content of a slot file. Times are Unix milliseconds.
type record struct {
	Worker int64
	Token  int64 // 0 if never leased
	Mark   int64 // no later time was used
	Since  int64
	Owner  [16]byte
	Holder string // empty if released or never leased
}

// recordSize is the size of a disk sector, which is written as a whole or not at all.
const recordSize = 512

// Tokens and times are below maxNumber. As a time, maxNumber lies in the year 33658.
const maxNumber = 999_999_999_999_999

const magic = "snowlea1"

// onDisk is a record without its checksum.
type onDisk struct {
	Magic                      [8]byte
	Worker, Token, Mark, Since int64
	Owner                      [16]byte
	Length                     uint8
	Holder                     [255]byte
	_                          [recordSize - 8 - 4*8 - 16 - 1 - 255 - 4]byte
}

// encode returns the content of a slot file. It truncates a holder of more than 255 bytes.
func (r record) encode() []byte {
	d := onDisk{Worker: r.Worker, Token: r.Token, Mark: r.Mark, Since: r.Since, Owner: r.Owner}
	copy(d.Magic[:], magic)
	d.Length = uint8(copy(d.Holder[:], r.Holder))
	b, _ := binary.Append(make([]byte, 0, recordSize), binary.BigEndian, d) // fails only for other types
	return binary.BigEndian.AppendUint32(b, sum(b))
}

func decode(b []byte, worker int64) (record, error) {
	var d onDisk
	if len(b) != recordSize {
		return record{}, fmt.Errorf("it has %d bytes instead of %d", len(b), recordSize)
	}
	body := b[:recordSize-4]
	if sum(body) != binary.BigEndian.Uint32(b[len(body):]) {
		return record{}, errors.New("its checksum is wrong")
	}
	_, _ = binary.Decode(body, binary.BigEndian, &d) // fails only for fewer bytes
	switch {
	case string(d.Magic[:]) != magic:
		return record{}, fmt.Errorf("it begins with %q instead of %q: another version wrote it", d.Magic, magic)
	case d.Worker != worker:
		return record{}, fmt.Errorf("it belongs to worker id %d", d.Worker)
	case min(d.Token, d.Mark, d.Since) < 0 || max(d.Token, d.Mark, d.Since) >= maxNumber:
		return record{}, fmt.Errorf("token %d, mark %d or since %d is not 0 to %d", d.Token, d.Mark, d.Since, int64(maxNumber-1))
	}
	return record{Worker: d.Worker, Token: d.Token, Mark: d.Mark, Since: d.Since, Owner: d.Owner, Holder: string(d.Holder[:d.Length])}, nil
}

func sum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
