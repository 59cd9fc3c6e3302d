package segment

// Reset gives up the numbers that were reserved and not issued, in a process that may
// have been copied with its memory: a virtual machine restored from a snapshot, a
// checkpointed container. Its copies hold the same numbers. Call it after the copy wakes
// and before it asks for a number. In strict order nothing is held but by a call that is
// under way.
func (i *Issuer) Reset() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.copies.Add(1)
	for c := i.cur.Load(); c != nil; c = c.next.Load() {
		i.dropped.Add(c.drop())
	}
}

// drop uses c up and returns how many numbers nobody is given for that.
func (c *chunk) drop() int64 {
	for {
		used := c.used.Load()
		if used >= c.n {
			return 0
		}
		if c.used.CompareAndSwap(used, c.n) {
			return c.n - used
		}
	}
}

// current does what is done with an answer of the store, unless Reset was called since
// copies was read: the question may then be another process's as well.
func (i *Issuer) current(copies int64, do func()) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.copies.Load() != copies {
		return false
	}
	do()
	return true
}
