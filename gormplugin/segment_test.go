package gormplugin_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/snowflake"
)

type (
	Numbered struct {
		ID    int64 `gorm:"primaryKey;autoIncrement:false" idworker:"segment=invoices"`
		Lines []SegmentLine
	}
	SegmentLine struct {
		ID         int64 `gorm:"primaryKey;autoIncrement:false"`
		NumberedID int64
	}
	Member struct {
		ID int16 `gorm:"primaryKey;autoIncrement:false" idworker:"segment=members"`
	}
	Coupon struct {
		ID uint8 `gorm:"primaryKey;autoIncrement:false" idworker:"segment=members"`
	}
)

// Keys tagged with a segment get its numbers; other keys get ids.
func TestSegmentKeys(t *testing.T) {
	t.Parallel()
	gen, invoices, members := &counter{last: 1 << 40}, &counter{last: 1000}, &counter{last: math.MaxUint8 - 1}
	cfg := gormplugin.Config{Segments: func(name string) (snowflake.Source, error) {
		switch name {
		case "invoices":
			return invoices, nil
		case "members":
			return members, nil
		}
		return nil, fmt.Errorf("%q is unknown", name)
	}}
	db := openSQLite(t, gormplugin.New(gen, cfg), &Numbered{}, &SegmentLine{}, &Member{}, &Coupon{})
	rows := []Numbered{{Lines: make([]SegmentLine, 2)}, {ID: 7}, {}}
	require.NoError(t, db.Create(&rows).Error)
	require.Equal(t, []int64{1001, 7, 1002}, []int64{rows[0].ID, rows[1].ID, rows[2].ID})
	require.Equal(t, int64(1001), rows[0].Lines[1].NumberedID)
	require.Greater(t, rows[0].Lines[0].ID, int64(1<<40))

	c := Coupon{}
	require.NoError(t, db.Create(&c).Error)
	require.EqualValues(t, math.MaxUint8, c.ID)
	c = Coupon{}
	err := db.Create(&c).Error
	require.ErrorIs(t, err, gormplugin.ErrKey)
	require.ErrorContains(t, err, "it holds 255 at most, and the number is 256")
	require.Zero(t, c)
	m := Member{}
	require.NoError(t, db.Create(&m).Error)
	require.EqualValues(t, 257, m.ID)
	members.last = math.MaxInt16
	require.ErrorContains(t, db.Create(&Member{}).Error, "holds 32767 at most")
}

func TestSegmentFaults(t *testing.T) {
	t.Parallel()
	for says, segments := range map[string]func(string) (snowflake.Source, error){
		"there are no segments":              nil,
		"returned no generator":              func(string) (snowflake.Source, error) { return nil, nil },
		"returned no generator of that name": func(string) (snowflake.Source, error) { return (*numbers.Segment)(nil), nil },
		"closed for today":                   func(string) (snowflake.Source, error) { return nil, errors.New("closed for today") },
	} {
		db := openSQLite(t, gormplugin.New(&counter{}, gormplugin.Config{Segments: segments}), &Numbered{})
		row := Numbered{}
		err := db.Create(&row).Error
		require.ErrorIs(t, err, gormplugin.ErrKey)
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, `idworker:"segment=invoices"`)
		require.Zero(t, row.ID)
	}
}
