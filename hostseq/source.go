package hostseq

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A place is where worker ids are looked for: a valid configuration on a host.
type place struct {
	Config      // with Dir
	ownDir bool // Dir is the default
	layout snowflake.Layout
	host   host
}

// A choice is the source that there is.
type choice struct {
	source   Source
	number   int64 // the worker id; the ordinal; the machine's number; the hash
	slotBits uint8 // lock: the bits below number
	dir      slots // empty: nothing is kept
	promise  string
	warnings []string
}

// choose asks the sources in order, and warns of those that are not there.
func (p place) choose() (choice, error) {
	var missing []error
	for _, s := range p.Sources {
		ch, err := p.ask(s)
		if err == nil {
			ch.source = s
			for _, m := range missing {
				ch.warnings = append(ch.warnings, m.Error())
			}
			return ch, nil
		}
		err = fmt.Errorf("local: source %s: %w", s, err)
		if !errors.Is(err, errNotHere) {
			return choice{}, err
		}
		missing = append(missing, err)
	}
	return choice{}, errors.Join(missing...)
}

func (p place) ask(s Source) (choice, error) {
	switch s {
	case Explicit:
		if p.Worker == nil {
			return choice{}, fmt.Errorf("%w: worker is not set", errNotHere)
		}
		return p.remember(choice{number: *p.Worker, promise: fmt.Sprintf(
			"worker id %d is set by hand: unique if no other process of the namespace is given it", *p.Worker)})
	case Ordinal:
		n, err := ordinal(p.host.name)
		if err != nil {
			return choice{}, err
		}
		if n >= p.layout.Workers() {
			return choice{}, fmt.Errorf("host name %q has the ordinal %d, but the layout has worker ids 0 to %d: choose a layout with more worker bits, or run fewer replicas",
				p.host.name, n, p.layout.Workers()-1)
		}
		return p.remember(choice{number: n, promise: fmt.Sprintf(
			"worker id is the number at the end of host name %q: unique if all hosts of the namespace are named alike but for it", p.host.name)})
	case Lock:
		return p.lock()
	}
	return p.hash(), nil
}

// remember lets ch keep records, unless it is to do without.
func (p place) remember(ch choice) (choice, error) {
	if p.Stateless {
		ch.promise += "; no record is kept, so ids can repeat if the clock is set back across a restart"
		ch.warnings = append(ch.warnings, ch.promise)
		return ch, nil
	}
	if err := p.prepare(); err != nil {
		return choice{}, fmt.Errorf("%w; or set stateless, to rely on the clock", err)
	}
	ch.dir = slots(p.Dir)
	ch.promise += fmt.Sprintf("; one process of those that share directory %s has it at a time, and a restart goes on above what is recorded there", p.Dir)
	return ch, nil
}

// prepare makes the directory ready.
func (p place) prepare() error {
	switch {
	case canLock() != nil:
		return canLock()
	case p.Dir == "":
		return p.host.dirErr
	}
	return slots(p.Dir).prepare()
}

func (p place) lock() (choice, error) {
	ch := choice{slotBits: p.layout.WorkerBits - p.MachineBits, dir: slots(p.Dir)}
	if p.host.container && p.ownDir && p.MachineBits == 0 {
		return ch, fmt.Errorf("%w: this is a container, and other containers do not see its directory %s: set dir to one that all of them mount, or machine_bits if the ends of their addresses differ, or choose source %s or %s",
			errNotHere, p.Dir, Explicit, Ordinal)
	}
	if err := p.prepare(); err != nil {
		return ch, fmt.Errorf("%w: %w", errNotHere, err)
	}
	ch.promise = fmt.Sprintf("unique among the processes that share directory %s, %d at most; a restart goes on above what is recorded there",
		p.Dir, int64(1)<<ch.slotBits)
	if p.MachineBits == 0 {
		ch.promise += "; not unique across hosts"
		ch.warnings = append(ch.warnings, "worker ids are unique only among the processes that share directory "+p.Dir+" on this host: where other hosts issue ids too, set machine_bits or use a center")
		return ch, nil
	}
	a, err := p.host.address(p.Network)
	if err != nil {
		return ch, err
	}
	ch.number = machine(a.Addr(), p.MachineBits)
	ch.promise += fmt.Sprintf("; unique across hosts whose addresses differ in the last %d bits, which in this one's (%v) are %d",
		p.MachineBits, a.Addr(), ch.number)
	if bits := a.Addr().BitLen() - a.Bits(); bits > int(p.MachineBits) {
		ch.warnings = append(ch.warnings, fmt.Sprintf("machine_bits %d are fewer than the %d by which addresses of network %v differ: hosts whose addresses end alike share worker ids",
			p.MachineBits, bits, a.Masked()))
	}
	if p.host.container && p.ownDir {
		ch.warnings = append(ch.warnings, "containers with one address (that of their host) share worker ids, but not directory "+p.Dir+": set dir to one that all of them mount")
	}
	return ch, nil
}

// hash is always there.
func (p place) hash() choice {
	sum := sha256.Sum256([]byte(p.host.identity + "\n" + strconv.Itoa(p.host.pid)))
	all := p.layout.Workers()
	ch := choice{number: int64(binary.BigEndian.Uint64(sum[:]) >> 1), promise: fmt.Sprintf(
		"not unique: worker id is a hash of the machine and the process id; that some share one of the %d is as likely as %.2g among 2 processes, %.2g among 8, %.2g among 32",
		all, collision(2, all), collision(8, all), collision(32, all))}
	if p.Stateless || p.prepare() != nil {
		ch.promise += "; no record is kept, so ids can repeat if the clock is set back across a restart"
	} else {
		ch.dir = slots(p.Dir)
		ch.promise += "; those that share directory " + p.Dir + " never share one"
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

// ordinal returns the N of a host name that ends, before its first dot, in -N.
func ordinal(name string) (int64, error) {
	pod, _, _ := strings.Cut(name, ".")
	at := strings.LastIndexByte(pod, '-')
	digits := pod[at+1:]
	if at < 1 || digits == "" || strings.Trim(digits, "0123456789") != "" || digits[0] == '0' && digits != "0" {
		return 0, fmt.Errorf("%w: host name %q does not end in - and a number, as those of a StatefulSet do", errNotHere, name)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		n = math.MaxInt64 // beyond any layout
	}
	return n, nil
}

// workers returns the first and the last worker id that the request may get.
func (ch choice) workers(req lease.Request) (first, last int64, err error) {
	switch ch.source {
	case Explicit:
		first, last = ch.number, ch.number
	case Ordinal: // disjoint ranges are for two sets that are numbered from 0
		first, last = req.First+ch.number, req.First+ch.number
	case Lock:
		first, last = ch.number<<ch.slotBits, (ch.number+1)<<ch.slotBits-1
		first, last = max(first, req.First), min(last, req.Last)
	case Hash:
		return req.First, req.Last, nil
	}
	if first > last || first < req.First || last > req.Last {
		return 0, 0, fmt.Errorf("%w: local: source %s gives none of worker ids %d to %d, which namespace %q may use here: change workers, or the source",
			lease.ErrSetup, ch.source, req.First, req.Last, req.Namespace)
	}
	return first, last, nil
}
