package hostseq

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/snowlease/snowlease/snowflake"
)

// A choice is where worker ids come from on this host.
type choice struct {
	source   Source
	number   int64 // the worker id or hash
	dir      slots // empty if no record is kept
	promise  string
	warnings []string
}

// choose looks up what the source of a valid configuration needs, and creates the directory.
func choose(cfg Config, layout snowflake.Layout, h host) (choice, error) {
	ch, dir := choice{source: cfg.Source}, cmp.Or(cfg.Dir, h.dir)
	switch ch.source {
	case Explicit:
		ch.number = *cfg.Worker
		ch.promise = fmt.Sprintf("worker id %d is set by hand: unique if no other process of the namespace is given it", ch.number)
	case Lock:
		if h.container && cfg.Dir == "" {
			return choice{}, fmt.Errorf("local: source %s: no other container sees %s: set dir to one that all mount, or choose source %s", Lock, dir, Explicit)
		}
		ch.promise = "unique among the processes of this host, and across hosts if workers gives each a range of its own"
		ch.warnings = []string{"unique only among the processes that share directory " + dir + ": if other hosts issue ids too, give each its own range of workers, or use a center"}
	case Hash:
		sum := sha256.Sum256([]byte(h.process))
		ch.number = int64(binary.BigEndian.Uint64(sum[:]) >> 1)
		all := layout.Workers()
		ch.promise = fmt.Sprintf("not unique: worker id is a hash of the machine and the process id; the probability that two share one of the %d is %.2g among 2 processes, %.2g among 8, %.2g among 32",
			all, collision(2, all), collision(8, all), collision(32, all))
		ch.warnings = []string{ch.promise}
	}
	if cfg.Stateless {
		ch.promise += "; no record is kept, so ids can repeat if the clock is set back across a restart"
		ch.warnings = []string{ch.promise}
		return ch, nil
	}
	err := canLock()
	if dir == "" {
		err = cmp.Or(err, h.dirErr)
	}
	if err == nil {
		dir, err = slots(dir).prepare()
	}
	if err != nil {
		return choice{}, fmt.Errorf("local: source %s: %w; sources %s and %s can be stateless instead, and rely on the clock", ch.source, err, Explicit, Hash)
	}
	ch.dir = slots(dir)
	ch.promise += "; processes that share directory " + dir + " never hold one worker id at the same time, and a restart continues above what is recorded there"
	return ch, nil
}

// collision returns the probability that any two of n processes draw the same of all
// worker ids.
func collision(n, all int64) float64 {
	apart := 1.0
	for i := range n {
		apart *= math.Max(0, 1-float64(i)/float64(all))
	}
	return 1 - apart
}
