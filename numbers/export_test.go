package numbers

// Defaults returns c with its zero fields filled in.
func Defaults(c SegmentConfig) SegmentConfig {
	c = c.withDefaults()
	c.Logger = nil
	return c
}
