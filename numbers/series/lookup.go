package series

// A Lookup returns the series of a name.
type Lookup func(name string) (*Series, error)
