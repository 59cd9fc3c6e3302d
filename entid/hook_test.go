package entid_test

import (
	"context"
	"testing"

	"entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/entid"
)

// A mutation like those that Ent generates: SetID(0) sets.
type mutation[T any] struct {
	ent.Mutation
	id  T
	set bool
}

func (m *mutation[T]) Op() ent.Op    { return ent.OpCreate }
func (m *mutation[T]) Type() string  { return "Order" }
func (m *mutation[T]) ID() (T, bool) { return m.id, m.set }
func (m *mutation[T]) SetID(id T)    { m.id, m.set = id, true }

type counting int64

func (c *counting) NextIDs(_ context.Context, dst []int64) error {
	for i := range dst {
		*c++
		dst[i] = int64(*c)
	}
	return nil
}

var saved = ent.MutateFunc(func(context.Context, ent.Mutation) (ent.Value, error) { return nil, nil })

// A key that is set to 0, as by SetID(in.ID) of a zero publicid.ID, is none.
func TestZeroKey(t *testing.T) {
	filled(t, int64(1))
	filled(t, uint64(1))
	filled(t, 1)
	filled(t, uint(1))
	filled(t, "1")
	filled(t, int32(0))
	filled(t, [16]byte{})
}

func filled[T any](t *testing.T, want T) {
	m := new(mutation[T])
	m.SetID(m.id)
	_, err := entid.Hook(new(counting))(saved).Mutate(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, want, m.id)
}

func TestNoSource(t *testing.T) {
	_, err := entid.Hook(nil)(saved).Mutate(t.Context(), new(mutation[int64]))
	require.ErrorContains(t, err, "the source of ids is nil")
}
