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
	number   int64 // the worker id, ordinal, machine number or hash
	slotBits uint8 // for lock: the bits below number
	dir      slots // empty if no record is kept
	promise  string
	warnings []string
}

// choose looks up what the source needs.
func (p place) choose() (choice, error) {
	ch, err := p.ask()
	if err != nil {
		return choice{}, fmt.Errorf("local: source %s: %w", p.Source, err)
	}
	ch.source = p.Source
	return ch, nil
}

func (p place) ask() (choice, error) {
	switch p.Source {
	case Explicit:
		return p.remember(choice{number: *p.Worker, promise: fmt.Sprintf(
			"worker id %d is set by hand: unique if no other process of the namespace is given it", *p.Worker)})
	case Ordinal:
		n, err := ordinal(p.host.name)
		if err != nil {
			return choice{}, err
		}
		if n >= p.layout.Workers() {
			return choice{}, fmt.Errorf("host name %q has the ordinal %d, but worker ids are 0 to %d: choose a layout with more worker bits or run fewer replicas",
				p.host.name, n, p.layout.Workers()-1)
		}
		return p.remember(choice{number: n, promise: fmt.Sprintf(
			"worker id follows from the number at the end of host name %q: unique if the host names of the namespace differ only in it", p.host.name)})
	case Lock:
		return p.lock()
	}
	return p.hash(), nil
}

// remember makes ch keep records, unless Stateless is set.
func (p place) remember(ch choice) (choice, error) {
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
	ch := choice{slotBits: p.layout.WorkerBits - p.MachineBits}
	if p.host.container && p.ownDir && p.MachineBits == 0 {
		return ch, fmt.Errorf("no other container sees %s: set dir to one that all mount, machine_bits if addresses end differently, or source %s or %s",
			p.Dir, Explicit, Ordinal)
	}
	if err := p.prepare(); err != nil {
		return ch, err
	}
	ch.dir = slots(p.Dir)
	ch.warnings = p.passing()
	ch.promise = fmt.Sprintf("unique among the processes that share directory %s (at most %d); a restart continues above what is recorded there",
		p.Dir, int64(1)<<ch.slotBits)
	if p.MachineBits == 0 {
		ch.promise += "; not unique across hosts"
		ch.warnings = append(ch.warnings, "worker ids are unique only among the processes that share directory "+p.Dir+" on this host: if other hosts issue ids too, set machine_bits or use a center")
		return ch, nil
	}
	a, err := p.host.address(p.Network)
	if err != nil {
		return ch, err
	}
	ch.number = machine(a.Addr(), p.MachineBits)
	ch.promise += fmt.Sprintf("; unique across hosts whose addresses differ in the last %d bits (in this host's %v they are %d)",
		p.MachineBits, a.Addr(), ch.number)
	if bits := a.Addr().BitLen() - a.Bits(); bits > int(p.MachineBits) {
		ch.warnings = append(ch.warnings, fmt.Sprintf("machine_bits %d are fewer than the %d host bits of network %v: hosts whose addresses end in the same bits share worker ids",
			p.MachineBits, bits, a.Masked()))
	}
	if p.host.container && p.ownDir {
		ch.warnings = append(ch.warnings, "containers that use their host's address share worker ids, but not directory "+p.Dir+": set dir to one that all of them mount")
	}
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

// ordinal returns the N of a host name whose first label ends in -N.
func ordinal(name string) (int64, error) {
	pod, _, _ := strings.Cut(name, ".")
	at := strings.LastIndexByte(pod, '-')
	digits := pod[at+1:]
	if at < 1 || digits == "" || strings.Trim(digits, "0123456789") != "" || digits[0] == '0' && digits != "0" {
		return 0, fmt.Errorf("host name %q does not end in - and a number, as a StatefulSet's do: choose another source", name)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		n = math.MaxInt64 // beyond any layout
	}
	return n, nil
}

func (ch choice) workers(req lease.Request) (first, last int64, err error) {
	switch ch.source {
	case Explicit:
		first, last = ch.number, ch.number
	case Ordinal: // disjoint ranges allow several sets that start at 0
		first, last = req.First+ch.number, req.First+ch.number
	case Lock:
		first, last = ch.number<<ch.slotBits, (ch.number+1)<<ch.slotBits-1
		first, last = max(first, req.First), min(last, req.Last)
	case Hash:
		return req.First, req.Last, nil
	}
	if first > last || first < req.First || last > req.Last {
		return 0, 0, fmt.Errorf("%w: local: source %s has no worker id from %d to %d, the range of namespace %q: change workers or the source",
			lease.ErrSetup, ch.source, req.First, req.Last, req.Namespace)
	}
	return first, last, nil
}
