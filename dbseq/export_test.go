package dbseq

// ReadFrom makes c read the clock and the incarnation from SQL expressions instead of
// the server's.
func (c *Center) ReadFrom(now, incarnation string) {
	c.queries.Store(load(c.dialect, c.prefix, now, incarnation))
}
