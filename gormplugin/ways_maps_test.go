package gormplugin_test

import (
	"database/sql"
	"encoding/json"
	"strconv"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm/clause"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/publicid"
)

func mapWays() []way {
	return []way{
		{"map", func(c cell) {
			m := map[string]any{"name": c.name()}
			require.NoError(c, c.db.Model(&Plain{}).Create(&m).Error)
			c.filled("plains", "id", m["id"])
		}},
		{"maps, zero in every form", func(c cell) {
			var boxed any = json.Number("0")
			var rows []map[string]any
			zeros := []any{"0", "00", " -0.0e1", "", 0.4, boxed, &boxed, []byte("0"), uint8(0), false, new(int64), (*string)(nil)}
			zeros = append(zeros, sql.NullInt64{Valid: true}, &sql.NullString{String: "0", Valid: true}, sql.Null[any]{V: []byte("0"), Valid: true}, publicid.ID[PublicOrder](0))
			for _, zero := range zeros {
				rows = append(rows, map[string]any{"id": zero})
			}
			require.NoError(c, c.db.Model(&Plain{}).Create(rows).Error)
			c.filled("plains", "id", ids(rows, mapID)...)
			for _, text := range []any{"abc", json.Number("0x0"), []byte("nan"), sql.NullString{String: "1,5", Valid: true}} {
				err := c.db.Model(&Plain{}).Create([]map[string]any{{}, {"id": text}}).Error
				require.ErrorIs(c, err, gormplugin.ErrKey)
				require.ErrorContains(c, err, "not a number, and its column id holds numbers")
			}
			require.ErrorContains(c, c.db.Create(&TextNumber{ID: "12a"}).Error, `its value is "12a", which is not a number`)
			require.NoError(c, c.db.Model(&Text{}).Create(map[string]any{"id": "0"}).Error)
			c.holds("texts", "id", "0")
		}},
		{"maps", func(c cell) {
			rows := []map[string]any{{"name": "a"}, {"ID": int64(3)}, {"name": "c", "id": nil}}
			require.NoError(c, c.db.Model(&Plain{}).Create(rows).Error)
			c.issued(rows[0]["id"], rows[2]["id"])
			c.holds("plains", "id", rows[0]["id"], 3, rows[2]["id"])
		}},
		// On dialects with RETURNING, GORM alone cannot insert these, appends to the caller's
		// maps if it gets a pointer, and mixes batches up.
		{"maps of an AUTO_INCREMENT model", func(c cell) {
			rows := []map[string]any{{"name": c.name()}, {"name": c.name()}, {"name": c.name()}}
			require.NoError(c, c.db.Model(&Auto{}).Create(rows).Error)
			require.Len(c, rows, 3)
			c.filled("autos", "id", ids(rows, mapID)...)
		}},
		{"pointer to maps of an AUTO_INCREMENT model, by other names", func(c cell) {
			rows := []map[string]any{{"name": c.name()}, {"Name": c.name(), "ID": uint(4)}, {"name": c.name(), "Id": 0}}
			require.NoError(c, c.db.Model(&Auto{}).Create(&rows).Error)
			require.Len(c, rows, 3)
			require.EqualValues(c, 4, rows[1]["ID"])
			c.issued(rows[0]["id"], rows[2]["Id"])
			c.holds("autos", "id", rows[0]["id"], rows[1]["ID"], rows[2]["Id"])
			c.holds("autos", "id", ids(rows, mapID)...)
		}},
		{"maps in batches, AUTO_INCREMENT", func(c cell) {
			rows := []map[string]any{{"name": c.name()}, {"name": c.name()}, {"name": c.name()}}
			name := rows[2]["name"]
			require.NoError(c, c.db.Model(&Auto{}).CreateInBatches(rows, 2).Error)
			require.Equal(c, name, rows[2]["name"])
			c.filled("autos", "id", ids(rows, mapID)...)
		}},
		{"maps, upsert of a row that is there", func(c cell) {
			first := Auto{Name: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			m := map[string]any{"name": first.Name, "status": "x"}
			update := clause.OnConflict{Columns: upsertByName.Columns, DoUpdates: clause.AssignmentColumns([]string{"status"})}
			require.NoError(c, c.db.Model(&Auto{}).Clauses(update).Create([]map[string]any{m}).Error)
			c.filled("autos", "id", first.ID)
			if c.returning {
				require.EqualValues(c, first.ID, m["id"])
			}
		}},
		{"maps with a RETURNING clause of the statement's own", func(c cell) {
			rows := []map[string]any{{"name": c.name()}, {"name": c.name()}}
			all := rows
			require.NoError(c, c.db.Model(&Auto{}).Clauses(clause.Returning{}).Create(&all).Error)
			c.filled("autos", "id", ids(rows, mapID)...)
			if c.returning {
				require.Len(c, all, 4, "GORM appends what came back")
				require.EqualValues(c, "new", all[3]["status"])
			}
		}},
		{"maps with keys of text", func(c cell) {
			rows, own := []map[string]any{{}, {"id": ""}}, map[string]any{}
			require.NoError(c, c.db.Model(&Text{}).Create(rows).Error)
			c.filled("texts", "id", ids(rows, mapID)...)
			require.IsType(c, "", rows[0]["id"])
			require.NoError(c, c.db.Model(&Base36{}).Create(own).Error)
			c.holds("base36", "id", own["id"])
			id, err := strconv.ParseInt(own["id"].(string), 36, 64)
			require.NoError(c, err)
			c.issued(id)
		}},
	}
}
