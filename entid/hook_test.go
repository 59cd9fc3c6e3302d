package entid_test

import (
	"context"
	"testing"

	"entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/entid"
)

// A mutation like those that Ent generates: SetID(0) sets.
type orderMutation struct {
	ent.Mutation
	id  int64
	set bool
}

func (m *orderMutation) Op() ent.Op        { return ent.OpCreate }
func (m *orderMutation) Type() string      { return "Order" }
func (m *orderMutation) ID() (int64, bool) { return m.id, m.set }
func (m *orderMutation) SetID(id int64)    { m.id, m.set = id, true }

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
	m := new(orderMutation)
	m.SetID(0)
	_, err := entid.Hook(new(counting))(saved).Mutate(t.Context(), m)
	require.NoError(t, err)
	require.EqualValues(t, 1, m.id)
}

func TestNoSource(t *testing.T) {
	_, err := entid.Hook(nil)(saved).Mutate(t.Context(), new(orderMutation))
	require.ErrorContains(t, err, "the source of ids is nil")
}
