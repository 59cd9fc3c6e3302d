package segment

import "github.com/snowlease/snowlease/internal/numberstore"

// A Store reserves numbers, for any number of processes. Numbers of a dbseq.Center and
// package numbers/redissegments return one. Its method is for the packages of this module. A
// type that embeds a Store has that method alone, which is not enough for package series.
type Store interface{ numberstore.Store }
