package chaos

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// A journal is the file in which one process notes, in order, what it was granted and
// what it issued. An id counts as issued once it is in the file. A grant is noted
// before the process learns of it, and a last use before the center learns of it. So
// the file is correct at whatever moment the process is killed.
type journal struct {
	mu   sync.Mutex
	file *os.File
	err  error
}

// A record starts with its kind, which determines its length.
type kind byte

const (
	runOf    kind = 'R' // consecutive ids: first, count
	granted  kind = 'G' // a grant, or its renewal
	returned kind = 'B' // about to give a grant back: ceiling is the last use
	called   kind = 'C' // a call to the center failed: outcome; ceiling is the end of a quarantine
	failed   kind = 'E' // callers got no ids: outcome, count
	paused   kind = 'P' // the process had ids, then none for count milliseconds, and has some again
	done     kind = 'D' // ended cleanly
)

// An outcome is why a call to the center or to the generator failed.
type outcome byte

const (
	full outcome = iota
	quarantined
	lost
	refused // by a pin, a clock or the setup
	behind  // the clock has not passed what was used of the only slot that is free
	damaged // the only slot that is free has no record
	unknown // no reply from the center, or another error
	notStarted
	expired
	exhausted
	otherwise
	outcomes
)

var outcomeNames = [outcomes]string{
	"no free worker", "quarantine", "lost", "refused", "clock behind", "record damaged", "no answer",
	"not started", "lease expired", "sequence exhausted", "other",
}

// An entry is a record in memory. The kind determines which fields are set.
type entry struct {
	kind           kind
	first          int64 // id
	count          int64
	worker, token  int64
	floor, ceiling int64
	owner          [16]byte
	outcome        outcome
	at             int64 // Unix milliseconds of this host when it was noted
}

func openJournal(name string) (*journal, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	return &journal{file: file}, err
}

// write appends records with one system call.
func (j *journal) write(records []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.Write(records); err != nil && j.err == nil {
		j.err = err
	}
}

func (j *journal) put(e entry) { j.write(e.append(nil)) }

// lent notes a grant with the given ceiling.
func (j *journal) lent(kind kind, g lease.Grant, ceiling int64) {
	j.put(entry{
		kind: kind, worker: g.Worker, token: g.Token, floor: g.Floor, ceiling: ceiling, owner: g.Owner,
		at: time.Now().UnixMilli(),
	})
}

func (e entry) append(b []byte) []byte {
	put := func(values ...int64) {
		for _, v := range values {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		}
	}
	b = append(b, byte(e.kind))
	switch e.kind {
	case runOf:
		put(e.first)
		b = binary.LittleEndian.AppendUint32(b, uint32(e.count))
	case granted, returned:
		put(e.worker, e.token, e.floor, e.ceiling, e.at)
		b = append(b, e.owner[:]...)
	case called:
		b = append(b, byte(e.outcome))
		put(e.ceiling)
	case failed:
		b = append(b, byte(e.outcome))
		put(e.count)
	case paused:
		put(e.count)
	}
	return b
}

// readEntry reads the next record. It returns io.ErrUnexpectedEOF for one that a kill
// has cut off.
func readEntry(in *bufio.Reader) (entry, error) {
	k, err := in.ReadByte()
	if err != nil {
		return entry{}, err
	}
	e := entry{kind: kind(k)}
	var raw [56]byte
	n := 0
	switch e.kind {
	case runOf:
		n = 12
	case granted, returned:
		n = 56
	case called, failed:
		n = 9
	case paused:
		n = 8
	case done:
	default:
		return e, fmt.Errorf("chaos: journal: a record of kind %q", k)
	}
	if _, err := io.ReadFull(in, raw[:n]); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return e, err
	}
	number := func(at int) int64 { return int64(binary.LittleEndian.Uint64(raw[at:])) }
	switch e.kind {
	case runOf:
		e.first, e.count = number(0), int64(binary.LittleEndian.Uint32(raw[8:]))
	case granted, returned:
		e.worker, e.token, e.floor, e.ceiling, e.at = number(0), number(8), number(16), number(24), number(32)
		copy(e.owner[:], raw[40:])
	case called:
		e.outcome, e.ceiling = outcome(raw[0]), number(1)
	case failed:
		e.outcome, e.count = outcome(raw[0]), number(1)
	case paused:
		e.count = number(0)
	}
	return e, nil
}
