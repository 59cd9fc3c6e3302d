package ordernumber

func (c *Codec) Join(p Parts) (string, error) { return c.join(p) }
