package fault

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestText(t *testing.T) {
	t.Parallel()
	five, cause := 5, errors.New("cause")
	for want, f := range map[string]*Fault{
		"name is empty: give one": {Key: "name", Problem: "is empty: give one"},
		`name "a b" is no name`:   {Key: "name", Value: "a b", Problem: "is no name"},
		"wait -1s is negative":    {Key: "wait", Value: -time.Second, Problem: "is negative"},
		"worker 5 is set":         {Key: "worker", Value: &five, Problem: "is set"},
		"list [a b] is long":      {Key: "list", Value: []string{"a", "b"}, Problem: "is long"},
		"layout: cause":           {Key: "layout", Err: cause},
	} {
		require.Equal(t, want, f.Text())
		f.In = "here"
		require.EqualError(t, f, "here: "+want)
		require.Equal(t, f.Err, errors.Unwrap(f))
	}
}

func TestTake(t *testing.T) {
	t.Parallel()
	inner := List{In: "inner"}
	inner.Check("a", 1, true, "is odd: give %d", 2)
	inner.Check("a", 1, false, "is odd")
	OneOf(&inner, "b", "x", "y", "z")
	OneOf(&inner, "c", "y", "y", "z")
	other := errors.New("other")
	outer := List{In: "outer"}
	outer.Take(nil, nil)
	outer.Take(errors.Join(inner.Err(), fmt.Errorf("as well: %w", other)), func(key string) string { return "block." + key })
	require.Len(t, outer.All(), 3)
	require.EqualError(t, outer.Err(), "outer: block.a 1 is odd: give 2\nouter: block.b \"x\" is unknown: choose y, z\nouter: block.: as well: other")
	require.ErrorIs(t, outer.Err(), other)
	require.EqualError(t, inner.Err(), "inner: a 1 is odd: give 2\ninner: b \"x\" is unknown: choose y, z", "they are copied")
	require.NoError(t, new(List).Err())
}
