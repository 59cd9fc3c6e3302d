package dbseq

import "context"

// ReadFrom makes c read the clock and the incarnation from SQL expressions instead of
// the server's.
func (c *Center) ReadFrom(now, incarnation string) {
	c.use(now, incarnation)
}

// Ask runs a statement without parameters.
func (c *Center) Ask(ctx context.Context, name string) error {
	_, err := all(ctx, c.conn, name, nil, column[any])
	return err
}
