package segment

// Reset discards the numbers that are reserved but not issued. It is for a process that
// may have been copied with its memory, such as a virtual machine restored from a
// snapshot or a checkpointed container, whose copies hold the same numbers. Call it
// after the copy resumes and before it asks for a number. Calls in progress ask again; in
// strict order only they hold numbers.
func (i *Issuer) Reset() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.copies.Add(1)
	for c := i.cur.Load(); c != nil; c = c.next.Load() {
		i.dropped.Add(c.drop())
	}
	i.copies.Add(1)
}

// resets returns copies, after a Reset that is under way.
func (i *Issuer) resets() int64 {
	if n := i.copies.Load(); n%2 == 0 {
		return n
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.copies.Load()
}

// drop uses up c and returns how many numbers that discards.
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

// current calls do and returns true, unless Reset was called since copies was read.
// Then copies of the process may get the same answer from the store.
func (i *Issuer) current(copies int64, do func()) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.copies.Load() != copies {
		return false
	}
	do()
	return true
}
