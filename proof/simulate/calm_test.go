package simulate

import "time"

// Calm plans also check that no loss leaves a holder without ids, and that a process
// that starts has ids soon, on etcd after one more renewal. Nodes with ExactTimes are exempt.

// lost notes a loss of records at this instant.
func (l *leases) lost() {
	l.overdue()
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.loss = l.w.now()
}

// overdue reports processes that should have had an id by this time.
func (l *leases) overdue() {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	for _, n := range l.w.nodes {
		if p := n.cur; p != nil && p.lastIssue == 0 && !p.stopping {
			if b, ok := p.program.(*borrower); ok {
				b.waited()
			}
		}
	}
}

// measured reports whether the time without ids counts for the process. The caller
// holds world.mu, as for all methods below.
func (b *borrower) measured() bool {
	return b.w.plan.Calm && b.w.mended == 0 && !b.w.plan.Nodes[b.node.index].Exact
}

// waited notes how long a process has waited for its first id, counted from its start
// or from a later loss of records.
func (b *borrower) waited() {
	if !b.measured() {
		return
	}
	wait, skew := b.w.now()-max(b.began, b.l.loss), b.w.plan.most().Skew
	b.w.result.Waited = max(b.w.result.Waited, wait-skew)
	most := skew + time.Second
	if _, near := b.l.store.(nearby); near {
		// A cluster that falls back may show twice: to who finds keys missing, and later, at its
		// next renewal, to who has seen more of it.
		most += b.w.plan.most().MaxTTL / 2
	}
	if wait > most {
		b.w.broken(Late, "process %d has had no id for %v since it started or records were lost", b.id, wait)
	}
}

// paused notes that a process that had ids has been without.
func (b *borrower) paused() {
	if !b.measured() || b.lastIssue == 0 {
		return
	}
	b.w.result.Paused = max(b.w.result.Paused, b.w.now()-b.without)
	b.w.broken(Paused, "process %d has had no id since %v", b.id, b.without)
}

// served notes that the process is about to have ids.
func (b *borrower) served() {
	if b.without > 0 {
		b.paused()
	}
	if b.lastIssue == 0 {
		b.waited()
	}
	b.without = 0
}

// unserved notes that the process had no ids.
func (b *borrower) unserved(err error) {
	if kind := kindOf(err); b.without == 0 && (kind == "expired" || kind == "not started") {
		b.without = b.w.now()
		b.paused()
	}
}

// unable notes that a process could not start. The caller does not hold world.mu.
func (b *borrower) unable(err error) {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	if b.measured() && !b.stopping {
		b.w.broken(Late, "process %d could not start: %v", b.id, kindOf(err))
	}
}
