// Package shop_test runs the code that Ent generates on the database that SHOP_DRIVER and
// SHOP_DSN name. The test of package entid generates and starts it.
package shop_test

import (
	"context"
	stdsql "database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	_ "github.com/go-sql-driver/mysql" // driver "mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/entid"
	"github.com/snowlease/snowlease/publicid"
	"github.com/snowlease/snowlease/snowflake"

	"shop/ent"
	"shop/ent/customer"
	"shop/ent/order"
	"shop/ent/rating"
	"shop/ent/tag"
	"shop/ids"
)

// reserving is a source that counts its calls.
type reserving struct {
	ids snowflake.Source

	mu    sync.Mutex
	calls []int // how many ids each call reserved
}

func (s *reserving) NextIDs(ctx context.Context, dst []int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, len(dst))
	return s.ids.NextIDs(ctx, dst)
}

// taken returns the calls since the last one.
func (s *reserving) taken() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

func notStarted(t *testing.T) *snowlease.Worker {
	center, err := dbseq.Open("sqlite", t.TempDir()+"/ids.db")
	require.NoError(t, err)
	w, err := snowlease.New(center, snowlease.Config{Namespace: "shop"})
	require.NoError(t, err)
	return w
}

// workers has the worker id of the last worker. Two with the same one would repeat ids.
var workers atomic.Int64

func started(t *testing.T) *snowlease.Worker {
	w, err := snowlease.Fixed(workers.Add(1), snowlease.Config{})
	require.NoError(t, err)
	return w
}

// shop is a client without a hook.
type shop struct {
	*ent.Client
	db      *stdsql.DB
	dialect string
}

func open(t *testing.T) shop {
	driver, dsn := os.Getenv("SHOP_DRIVER"), os.Getenv("SHOP_DSN")
	s := shop{dialect: map[string]string{"sqlite": dialect.SQLite, "mysql": dialect.MySQL, "pgx": dialect.Postgres}[driver]}
	if s.dialect == "" {
		t.Skip("SHOP_DRIVER names no database")
	}
	db, err := stdsql.Open(driver, dsn)
	require.NoError(t, err)
	s.db, s.Client = db, ent.NewClient(ent.Driver(sql.OpenDB(s.dialect, db)))
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.Schema.Create(t.Context()))
	return s
}

// filled is a client with the hook.
func filled(t *testing.T) (shop, *reserving) {
	s, source := open(t), &reserving{ids: started(t)}
	s.Use(entid.Hook(source))
	return s, source
}

func (s shop) customer(t *testing.T) *ent.Customer {
	return s.Customer.Create().SetEmail(t.Name()).SaveX(t.Context())
}

// The second migration finds nothing to change, and no column numbers rows.
func TestSchema(t *testing.T) {
	s := open(t)
	var changes strings.Builder
	require.NoError(t, s.Schema.WriteTo(t.Context(), &changes))
	require.NotContains(t, changes.String(), "TABLE")
	query := map[string]string{
		dialect.SQLite:   "SELECT type FROM pragma_table_info('orders') WHERE name LIKE '%id'",
		dialect.MySQL:    "SELECT concat(data_type, extra) FROM information_schema.columns WHERE table_schema = database() AND table_name = 'orders' AND column_name LIKE '%id'",
		dialect.Postgres: "SELECT concat(data_type, column_default) FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = 'orders' AND column_name LIKE '%id'",
	}[s.dialect]
	rows, err := s.db.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer rows.Close()
	var types []string
	for rows.Next() {
		var typ string
		require.NoError(t, rows.Scan(&typ))
		types = append(types, typ)
	}
	require.NoError(t, rows.Err())
	require.Equal(t, []string{"bigint", "bigint", "bigint"}, types)
}

func TestCreate(t *testing.T) {
	s, source := filled(t)
	ctx := t.Context()
	buyer := s.customer(t)
	first := s.Order.Create().SetTotal(5).SetCustomer(buyer).SaveX(ctx)
	second := s.Order.Create().SetTotal(6).SetCustomerID(buyer.ID).SetReplaces(first).SaveX(ctx)
	require.Equal(t, []int{1, 1, 1}, source.taken())
	require.Greater(t, second.ID, first.ID)
	require.Greater(t, int64(first.ID), int64(buyer.ID))

	text, err := json.Marshal(second)
	require.NoError(t, err)
	var seen struct {
		ID         string `json:"id"`
		CustomerID string `json:"customer_id"`
		ReplacesID string `json:"replaces_id"`
	}
	require.NoError(t, json.Unmarshal(text, &seen))
	require.Equal(t, buyer.ID.String(), seen.CustomerID)
	require.Equal(t, first.ID.String(), seen.ReplacesID)
	require.Regexp(t, "^ord_[0-9a-z]{26}$", seen.ID)
	id, err := publicid.Parse[ids.Order](seen.ID)
	require.NoError(t, err)

	found := s.Order.Query().Where(order.IDIn(id), order.IDGT(first.ID), order.CustomerID(buyer.ID)).WithCustomer().WithReplaces().OnlyX(ctx)
	require.Equal(t, second.ID, found.ID)
	require.Equal(t, buyer.ID, found.Edges.Customer.ID)
	require.Equal(t, first.ID, found.Edges.Replaces.ID)
	found, err = s.Order.Get(ctx, first.ID)
	require.NoError(t, err)
	require.Nil(t, found.ReplacesID)
	replacing := buyer.QueryOrders().Where(order.ReplacesID(first.ID)).OnlyIDX(ctx)
	require.Equal(t, second.ID, replacing)

	// Updates and deletes take no ids.
	require.NoError(t, second.Update().SetTotal(7).ClearReplaces().Exec(ctx))
	require.NoError(t, s.Order.DeleteOneID(second.ID).Exec(ctx))
	require.Empty(t, source.taken())
}

// A key that the caller set stays, and a key that the database numbers is left to it.
func TestOtherKeys(t *testing.T) {
	s, source := filled(t)
	buyer := s.Customer.Create().SetID(7).SetEmail(t.Name()).SaveX(t.Context())
	require.EqualValues(t, 7, buyer.ID)
	parcel := s.Parcel.Create().SaveX(t.Context())
	require.Less(t, parcel.ID, 100)
	require.Empty(t, source.taken())
	label := s.Tag.Create().SetName(t.Name()).SaveX(t.Context()) // a plain uint64
	require.Greater(t, label.ID, uint64(1<<40))
	note := s.Note.Create()
	require.NoError(t, entid.Fill(t.Context(), source, note, s.Note.Create().SetID("a")))
	require.Regexp(t, "^[0-9]{18,19}$", note.SaveX(t.Context()).ID)
	require.Equal(t, []int{1, 1}, source.taken())
}

// bulk creates orders with edges to tags and parcels, whose rows are written after the orders.
func (s shop) bulk(t *testing.T, n int, filled bool) (orders []*ent.OrderCreate, tags []*ent.Tag) {
	name := fmt.Sprint(t.Name(), filled)
	buyer := s.Customer.Create().SetEmail(name).SaveX(t.Context())
	for i := range n {
		label := s.Tag.Create().SetName(fmt.Sprint(name, i)).SaveX(t.Context())
		parcel := s.Parcel.Create().SaveX(t.Context())
		tags = append(tags, label)
		orders = append(orders, s.Order.Create().SetTotal(int64(i)).SetCustomer(buyer).AddTags(label).AddParcels(parcel))
	}
	return orders, tags
}

// stored checks that the orders have the edges that bulk gave them.
func (s shop) stored(t *testing.T, orders []*ent.Order, tags []*ent.Tag) {
	for i, o := range orders {
		row := s.Order.Query().Where(order.ID(o.ID)).WithTags().WithParcels().OnlyX(t.Context())
		require.EqualValues(t, i, row.Total)
		require.Len(t, row.Edges.Parcels, 1)
		require.Len(t, row.Edges.Tags, 1)
		require.Equal(t, tags[i].ID, row.Edges.Tags[0].ID)
		require.True(t, i == 0 || o.ID > orders[i-1].ID)
	}
}

// The hook reserves an id for each entity of a bulk. Fill reserves all at once, and leaves the hook
// none to fill.
func TestBulk(t *testing.T) {
	for _, fill := range []bool{false, true} {
		s, source := filled(t)
		orders, tags := s.bulk(t, 3, fill)
		source.taken()
		want := []int{1, 1, 1}
		if fill {
			require.NoError(t, entid.Fill(t.Context(), source, orders...))
			require.NoError(t, entid.Fill(t.Context(), source, orders...)) // they have ids
			want = []int{3}
		}
		rows := s.Order.CreateBulk(orders...).SaveX(t.Context())
		require.Equal(t, want, source.taken())
		s.stored(t, rows, tags)
	}
}

// Fill leaves keys alone that are set.
func TestFill(t *testing.T) {
	s, source := filled(t)
	ctx := t.Context()
	some := []*ent.CustomerCreate{s.Customer.Create().SetEmail("a"), s.Customer.Create().SetEmail("b").SetID(8), s.Customer.Create().SetEmail("c")}
	require.NoError(t, entid.Fill(ctx, source, some...))
	buyers := s.Customer.CreateBulk(some...).SaveX(ctx)
	require.Equal(t, []int{2}, source.taken())
	require.EqualValues(t, 8, buyers[1].ID)
	require.Greater(t, buyers[2].ID, buyers[0].ID)
	require.NoError(t, entid.Fill(ctx, source, s.Tag.Create())) // a plain uint64

	// MapCreateBulk has no builders yet.
	numbers := make([]int64, 3)
	require.NoError(t, source.NextIDs(ctx, numbers))
	source.taken()
	rows := s.Order.MapCreateBulk(numbers, func(c *ent.OrderCreate, i int) {
		c.SetID(ids.OrderID(numbers[i])).SetTotal(int64(i)).SetCustomer(buyers[0])
	}).SaveX(ctx)
	require.EqualValues(t, numbers[2], rows[2].ID)
	require.Empty(t, source.taken())
}

// Without ids nothing is written, and the error is that of the source.
func TestErrors(t *testing.T) {
	s, source := open(t), &reserving{}
	ctx, broken, stopped := t.Context(), errors.New("no ids today"), started(t)
	s.Use(entid.Hook(source))
	require.NoError(t, stopped.Close())
	create := s.Customer.Create().SetEmail(t.Name())
	bulk := []*ent.CustomerCreate{s.Customer.Create().SetEmail("d"), s.Customer.Create().SetEmail("e")}
	for _, c := range []struct {
		ids snowflake.Source
		is  error
	}{{notStarted(t), snowlease.ErrNotStarted}, {&failing{err: broken}, broken}, {stopped, snowlease.ErrClosed}} {
		source.ids = c.ids
		err := create.Exec(ctx)
		require.ErrorIs(t, err, c.is)
		require.ErrorContains(t, err, "entid: no id for a new Customer: ")
		require.ErrorIs(t, s.Customer.CreateBulk(bulk...).Exec(ctx), c.is)
		require.ErrorIs(t, entid.Fill(ctx, source, bulk...), c.is)
	}
	source.ids = &failing{Source: started(t), calls: 1, err: broken}
	require.ErrorIs(t, s.Customer.CreateBulk(bulk...).Exec(ctx), broken, "in the midst of a bulk")
	require.Zero(t, s.Customer.Query().Where(customer.EmailIn(t.Name(), "d", "e")).CountX(ctx))

	// The builders can be saved again. One whose INSERT fails keeps its id.
	source.ids = started(t)
	create.ExecX(ctx)
	twice := s.Customer.Create().SetEmail(t.Name())
	require.True(t, ent.IsConstraintError(twice.Exec(ctx)))
	source.taken()
	require.True(t, ent.IsConstraintError(twice.Exec(ctx)))
	require.Empty(t, source.taken())
	s.Customer.CreateBulk(bulk...).ExecX(ctx)
}

// failing has ids for some calls.
type failing struct {
	snowflake.Source
	calls int
	err   error
}

func (f *failing) NextIDs(ctx context.Context, dst []int64) error {
	if f.calls--; f.calls < 0 {
		return f.err
	}
	return f.Source.NextIDs(ctx, dst)
}

// A hook also works in a transaction, which can go on if it failed for want of an id. What is
// rolled back is not stored, and its id is not issued again.
func TestTransactions(t *testing.T) {
	s, _ := filled(t)
	ctx, buyer, gone := t.Context(), s.customer(t), ids.OrderID(0)
	for _, rollback := range []bool{true, false} {
		tx, err := s.Tx(ctx)
		require.NoError(t, err)
		row := tx.Order.Create().SetTotal(1).SetCustomer(buyer).SaveX(ctx)
		tx.Order.CreateBulk(tx.Order.Create().SetTotal(2).SetCustomer(buyer)).SaveX(ctx)
		require.Greater(t, row.ID, gone)
		if gone = row.ID; rollback {
			require.NoError(t, tx.Rollback())
			require.Zero(t, buyer.QueryOrders().CountX(ctx))
			continue
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		tx.Order.Use(entid.Hook(notStarted(t)))
		require.Error(t, tx.Order.Create().SetTotal(4).SetCustomer(buyer).Exec(ended)) // nothing was sent
		tx.Order.Create().SetID(9).SetTotal(4).SetCustomer(buyer).ExecX(ctx)
		require.NoError(t, tx.Commit())
		require.Equal(t, 3, buyer.QueryOrders().CountX(ctx))
	}
}

// A row that an upsert finds keeps its key. Ent learns it where the database has RETURNING.
func TestUpserts(t *testing.T) {
	s, source := filled(t)
	ctx := t.Context()
	was := s.customer(t)
	upsert := func() *ent.CustomerUpsertOne {
		conflict := []sql.ConflictOption{sql.ConflictColumns(customer.FieldEmail)}
		if s.dialect == dialect.MySQL {
			conflict[0] = sql.ConflictColumns()
		}
		return s.Customer.Create().SetEmail(was.Email).SetVisits(2).OnConflict(conflict...).UpdateNewValues()
	}
	require.NoError(t, upsert().Exec(ctx))
	id, err := upsert().ID(ctx)
	if s.dialect == dialect.MySQL {
		require.ErrorContains(t, err, "not supported by MySQL")
	} else {
		require.NoError(t, err)
		require.Equal(t, was.ID, id)
	}
	source.taken()

	builders := []*ent.CustomerCreate{s.Customer.Create().SetEmail(was.Email).SetVisits(3), s.Customer.Create().SetEmail(t.Name() + "new")}
	require.NoError(t, entid.Fill(ctx, source, builders...))
	require.NoError(t, s.Customer.CreateBulk(builders...).OnConflict(sql.ConflictColumns(customer.FieldEmail)).UpdateNewValues().Exec(ctx))
	require.Equal(t, []int{2}, source.taken())
	now := s.Customer.Query().Where(customer.Email(was.Email)).OnlyX(ctx)
	require.Equal(t, was.ID, now.ID)
	require.Equal(t, 3, now.Visits)
	added := s.Customer.Query().Where(customer.Email(t.Name() + "new")).OnlyX(ctx)
	require.Greater(t, added.ID, was.ID)
}

// An edge schema with a key of two fields needs no id. One with an id of its own gets it from
// the hook if its rows are created, and not if they come with an edge: Ent runs no hooks then,
// and the database refuses the row.
func TestEdgeSchemas(t *testing.T) {
	s, source := filled(t)
	ctx := t.Context()
	buyer := s.customer(t)
	label := s.Tag.Create().SetName(t.Name()).SaveX(ctx)
	source.taken()
	require.NoError(t, buyer.Update().AddWatched(label).Exec(ctx))
	require.NoError(t, s.Watch.Create().SetCustomer(s.Customer.Create().SetEmail(t.Name()+"2").SaveX(ctx)).SetTag(label).Exec(ctx))
	watchers := label.QueryWatchers().CountX(ctx)
	require.Equal(t, 2, watchers)
	require.Equal(t, []int{1}, source.taken()) // of the customer

	require.Error(t, buyer.Update().AddRated(label).Exec(ctx))
	require.NoError(t, s.Rating.Create().SetCustomer(buyer).SetTag(label).Exec(ctx))
	id := s.Rating.Query().Where(rating.HasTagWith(tag.ID(label.ID))).OnlyIDX(ctx)
	require.Greater(t, id, buyer.ID)
}

// Without a hook the database refuses a row, in place of numbering it.
func TestWithoutHook(t *testing.T) {
	s := open(t)
	require.Error(t, s.Customer.Create().SetEmail(t.Name()).Exec(t.Context()))
	require.Error(t, s.Customer.CreateBulk(s.Customer.Create().SetEmail(t.Name())).Exec(t.Context()))
	found := s.Customer.Query().Where(customer.Email(t.Name())).ExistX(t.Context())
	require.False(t, found)
}
