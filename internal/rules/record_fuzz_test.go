package rules

import "testing"

// What can be read is written and read again as the same.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"1":{"expires":2001,"mark":2001,"owner":"34e4169beee56d1a03f55593ee43412f","holder":"a \"1\"","token":1002,"since":1001,"floor":1000,"hold":1010,"used":1010,"shape":"layout={l} pool=3"},"meta":{"format":1,"pin":"layout={l} pool=3 max_ttl=1s skew=10ms","incarnation":"a","slots":3,"lent":"Aw=="}}`))
	f.Add([]byte(`{"0":{"expires":1,"mark":null,"token":0},"1":null}`))
	f.Add([]byte(`{"meta":{"format":1,"reason":"being created: 00"}}`))
	f.Add([]byte(`{"meta":{"format":1,"pin":"p","slots":2,"lent":"Ag=="}}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		ns, err := Decode(value)
		if err != nil || ns.Meta == (Meta{}) { // worker ids that were never lent do not show then
			return
		}
		if got, err := Decode(ns.Encode()); err != nil || !ns.Equal(got) {
			t.Fatalf("%s is read as %+v (%v)", ns.Encode(), got, err)
		}
	})
}
