package lease

import "fmt"

// Quarantine says what a center takes as a sign that its store may have forgotten grants. It
// then lends above all of them, until Pin.Hold has passed. Missing records always count as a sign.
type Quarantine string

// The values of Quarantine.
const (
	// QuarantineOnChange compares the incarnation of the store, which identifies the server
	// that answers, with the one on record.
	QuarantineOnChange Quarantine = "on-change"
	// QuarantineNever does not compare. It is for a store that loses no acknowledged write.
	QuarantineNever Quarantine = "never"
)

// Validate returns an error unless q is one of the values.
func (q Quarantine) Validate() error {
	if q != QuarantineOnChange && q != QuarantineNever {
		return fmt.Errorf("lease: quarantine %q is neither %q nor %q", string(q), QuarantineOnChange, QuarantineNever)
	}
	return nil
}
