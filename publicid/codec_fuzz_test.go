package publicid_test

import (
	"errors"
	"testing"

	"github.com/snowlease/snowlease/publicid"
)

// A text that is read is exactly the text of its id, and no other text is.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "ord_", "ord_0saa6m2dr40006", "ord_36mwvs7er4ssmnnmzc1g4fzdwm", "ord_8zzzzzzzzzzzzz", "ord_٣", "ORD_0SAA6M2DR40006"} {
		f.Add(s, int64(len(s)))
	}
	plain, err := publicid.New("ord")
	sealed, err2 := publicid.NewSealed("ord", []byte("a secret of the tests, 32 bytes."))
	if err := errors.Join(err, err2); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string, n int64) {
		for _, c := range []*publicid.Codec{plain, sealed} {
			if id, err := c.Decode(s); err != nil {
				if id != 0 || len(err.Error()) > 400 {
					t.Fatalf("%d, %v", id, err)
				}
			} else if text, err := c.Encode(id); err != nil || text != s {
				t.Fatalf("%q is read as %d, whose text is %q (%v)", s, id, text, err)
			}
			text, err := c.Encode(n)
			if n <= 0 {
				if err == nil || text != "" {
					t.Fatalf("%d has the text %q", n, text)
				}
				continue
			}
			if id, err2 := c.Decode(text); err != nil || err2 != nil || id != n {
				t.Fatalf("%d: %q is read as %d (%v, %v)", n, text, id, err, err2)
			}
		}
	})
}
