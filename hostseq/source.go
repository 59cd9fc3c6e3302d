package hostseq

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A place is a valid configuration on a host.
type place struct {
	Config      // with Dir
	ownDir bool // whether Dir is the default
	layout snowflake.Layout
	host   host
}

// A choice is where worker ids come from on this host.
type choice struct {
	source   Source
	number   int64 // the worker id or hash
	dir      slots // empty if no record is kept
	promise  string
	warnings []string
}

// choose looks up what the source needs.
func (p place) choose() (ch choice, err error) {
	switch p.Source {
	case Explicit:
		ch, err = p.explicit()
	case Lock:
		ch, err = p.lock()
	case Hash:
		ch = p.hash()
	}
	if err != nil {
		return choice{}, fmt.Errorf("local: source %s: %w", p.Source, err)
	}
	ch.source = p.Source
	return ch, nil
}

func (p place) explicit() (choice, error) {
	ch := choice{number: *p.Worker, promise: fmt.Sprintf(
		"worker id %d is set by hand: unique if no other process of the namespace is given it", *p.Worker)}
	if p.Stateless {
		ch.promise += "; no record is kept, so ids can repeat if the clock is set back across a restart"
		ch.warnings = append(ch.warnings, ch.promise)
		return ch, nil
	}
	if err := p.prepare(); err != nil {
		return choice{}, fmt.Errorf("%w; or set stateless to rely on the clock", err)
	}
	ch.dir, ch.warnings = slots(p.Dir), append(ch.warnings, p.passing()...)
	ch.promise += fmt.Sprintf("; only one process that shares directory %s holds it at a time, and a restart continues above what is recorded there", p.Dir)
	return ch, nil
}

// prepare creates the directory if necessary, and sets Dir to the path without links.
func (p *place) prepare() (err error) {
	switch {
	case canLock() != nil:
		return canLock()
	case p.Dir == "":
		return p.host.dirErr
	}
	p.Dir, err = slots(p.Dir).prepare()
	return err
}

// passing returns a warning if hosts clean the directory up, which loses the records.
func (p place) passing() []string {
	for _, temp := range p.host.temp {
		if strings.HasPrefix(p.Dir, filepath.Clean(temp)+string(filepath.Separator)) {
			return []string{"directory " + p.Dir + " for locks and records is below " + temp + ", which a restart or a cleanup of old files empties: set dir to one that is kept"}
		}
	}
	return nil
}

func (p place) lock() (choice, error) {
	if p.host.container && p.ownDir {
		return choice{}, fmt.Errorf("no other container sees %s: set dir to one that all mount, or choose source %s", p.Dir, Explicit)
	}
	if err := p.prepare(); err != nil {
		return choice{}, err
	}
	ch := choice{dir: slots(p.Dir), promise: "unique among the processes that share directory " + p.Dir +
		", and across hosts if workers gives each a range of its own; a restart continues above what is recorded there"}
	ch.warnings = append(p.passing(), "unique only among the processes that share directory "+p.Dir+
		": if other hosts issue ids too, give each its own range of workers, or use a center")
	return ch, nil
}

func (p place) hash() choice {
	sum := sha256.Sum256([]byte(p.host.identity + "\n" + strconv.Itoa(p.host.pid)))
	all := p.layout.Workers()
	ch := choice{number: int64(binary.BigEndian.Uint64(sum[:]) >> 1), promise: fmt.Sprintf(
		"not unique: worker id is a hash of the machine and the process id; the probability that two share one of the %d is %.2g among 2 processes, %.2g among 8, %.2g among 32",
		all, collision(2, all), collision(8, all), collision(32, all))}
	if p.Stateless || p.prepare() != nil {
		ch.promise += "; no record is kept, so ids can repeat if the clock is set back across a restart"
	} else {
		ch.dir = slots(p.Dir)
		ch.promise += "; processes that share directory " + p.Dir + " never share one"
	}
	ch.warnings = []string{ch.promise}
	return ch
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

// workers returns the worker ids that the source may lend for the request.
func (ch choice) workers(req lease.Request) (first, last int64, err error) {
	if ch.source != Explicit {
		return req.First, req.Last, nil
	}
	if ch.number < req.First || ch.number > req.Last {
		return 0, 0, fmt.Errorf("%w: local: worker %d is not among worker ids %d to %d, the range of namespace %q: change workers or the worker",
			lease.ErrSetup, ch.number, req.First, req.Last, req.Namespace)
	}
	return ch.number, ch.number, nil
}
