package chaos

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
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

// A record is its kind and the numbers of an entry.
type kind byte

const (
	runOf    kind = 'R' // consecutive ids: first, count
	granted  kind = 'G' // a grant, or its renewal
	returned kind = 'B' // about to give a grant back: ceiling is the last use
	called   kind = 'C' // a call to the center failed: outcome; ceiling is the end of a quarantine
	failed   kind = 'E' // callers got no ids: outcome, count
	paused   kind = 'P' // the process had ids, then none for count milliseconds, and has some again
	done     kind = 'D' // ended cleanly
	kinds         = "RGBCEPD"
)

// An outcome is why a call to the center or to the generator failed.
type outcome int64

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
	owner          [2]int64
	outcome        outcome
	at             int64 // Unix milliseconds of this host when it was noted
	asked, there   int64 // with numbers: by monotonic, when a run was requested and when it arrived
}

func (e *entry) numbers() []*int64 {
	return []*int64{
		&e.first, &e.count, &e.worker, &e.token, &e.floor, &e.ceiling, &e.owner[0], &e.owner[1],
		(*int64)(&e.outcome), &e.at, &e.asked, &e.there,
	}
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
	half := func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }
	j.put(entry{
		kind: kind, worker: g.Worker, token: g.Token, floor: g.Floor, ceiling: ceiling,
		owner: [2]int64{half(g.Owner[:8]), half(g.Owner[8:])}, at: time.Now().UnixMilli(),
	})
}

func (e entry) append(b []byte) []byte {
	b = append(b, byte(e.kind))
	for _, n := range e.numbers() {
		b = binary.AppendVarint(b, *n)
	}
	return b
}

// readEntry reads the next record. It returns io.ErrUnexpectedEOF for one that a kill
// has cut off.
func readEntry(in *bufio.Reader) (e entry, err error) {
	k, err := in.ReadByte()
	if err != nil {
		return e, err
	}
	if e.kind = kind(k); strings.IndexByte(kinds, k) < 0 {
		return e, fmt.Errorf("chaos: journal: a record of kind %q", k)
	}
	for _, n := range e.numbers() {
		if *n, err = binary.ReadVarint(in); errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return e, err
		}
	}
	return e, nil
}
