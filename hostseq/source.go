package hostseq

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/snowlease/snowlease/snowflake"
)

// A choice is how worker ids are found on this host.
type choice struct {
	source   Source
	number   int64 // the worker id or hash
	dir      slots // empty if no record is kept
	promise  string
	warnings []string
}

// choose resolves the source of a valid configuration, and creates the directory.
func choose(cfg Config, layout snowflake.Layout, h host) (choice, error) {
	ch, dir := choice{source: cfg.Source}, cmp.Or(cfg.Dir, h.dir)
	switch ch.source {
	case Explicit:
		ch.number = *cfg.Worker
		ch.promise = fmt.Sprintf("worker id %d is configured: unique if no other process of the namespace has it", ch.number)
	case Lock:
		if h.container && cfg.Dir == "" {
			return choice{}, fmt.Errorf("local: source %s: no other container sees %s: set dir to one that all mount, or choose source %s", Lock, cmp.Or(dir, "the default directory"), Explicit)
		}
		ch.promise = "unique among the processes that share the directory, and across directories if workers gives each a range of its own"
		ch.warnings = []string{"unique only among the processes that share directory " + dir + ": if other hosts, or other users of this one, issue ids too, give each a range of workers of its own, or use a center"}
	case Hash:
		sum := sha256.Sum256([]byte(h.process))
		ch.number = int64(binary.BigEndian.Uint64(sum[:]) >> 1)
		ch.promise = fmt.Sprintf("not unique: worker id is a hash of the machine and the process id; each pair of processes shares one with a probability of 1 in %d, or in as many as workers has, and 8 processes are 28 pairs", layout.Workers())
		ch.warnings = []string{ch.promise}
	}
	if cfg.Stateless {
		ch.promise += "; no record is kept, so ids can repeat if the clock is set back across a restart"
		ch.warnings = []string{ch.promise}
		return ch, nil
	}
	err := h.dirErr
	if dir != "" {
		ch.dir, err = slots(dir).prepare()
	}
	if err != nil {
		return choice{}, fmt.Errorf("local: source %s: %w; sources %s and %s can be stateless instead, and rely on the clock", ch.source, err, Explicit, Hash)
	}
	ch.promise += "; processes that share directory " + string(ch.dir) + " never hold one worker id at the same time, and a restart continues above what is recorded there"
	return ch, nil
}
