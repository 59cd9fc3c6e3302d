// Package ids is in a folder with a dot.
package ids

import "github.com/snowlease/snowlease/publicid"

// Kind is a kind of ids.
type Kind struct{}

// Codec returns nil: nothing encodes ids here.
func (Kind) Codec() *publicid.Codec { return nil }
