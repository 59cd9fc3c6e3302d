//go:build !unix

package sqlconn

// links returns 0, because the number of hard links of a file is unknown on this system.
func links(string) uint64 { return 0 }
