package metrics

// NewCollectorOf and NewPoolOf take workers that need not be real.
var (
	NewCollectorOf = newCollector
	NewPoolOf      = newPool
)
