package leasetest

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// DropRecord is DropPart for the single record of a casstore.Store, which contains all parts.
func DropRecord(t testing.TB, value []byte, what Records) []byte {
	t.Helper()
	record, values := map[string]json.RawMessage{}, map[string]string{}
	require.NoError(t, json.Unmarshal(value, &record))
	for name, text := range record {
		values[name] = string(text)
	}
	DropPart(t, values, what)
	clear(record)
	for name, text := range values {
		record[name] = json.RawMessage(text)
	}
	value, err := json.Marshal(record)
	require.NoError(t, err)
	return value
}

// DropPart loses some of the parts of a namespace, as Store.Drop does. The values are strings by
// name, as in etcdseq. If no worker id has been leased yet, it loses the parts that the first one
// would have.
func DropPart(t testing.TB, values map[string]string, what Records) {
	t.Helper()
	const meta = "meta"
	rewrite := func(name string, change func(fields map[string]any)) {
		fields := map[string]any{}
		require.NoError(t, json.Unmarshal([]byte(values[name]), &fields))
		change(fields)
		text, err := json.Marshal(fields)
		require.NoError(t, err)
		values[name] = string(text)
	}
	if _, pinned := values[meta]; pinned && len(values) == 1 {
		values["0"] = `{"expires":0,"mark":0}`
		rewrite(meta, func(fields map[string]any) { fields["lent"] = []byte{1} })
	}
	slots := slices.DeleteFunc(slices.Sorted(maps.Keys(values)), func(name string) bool { return name == meta })
	switch what {
	case OneSlot:
		delete(values, slots[0])
	case OneMark:
		rewrite(slots[0], func(fields map[string]any) { fields["mark"] = nil })
	case Owners:
		for _, name := range slots {
			rewrite(name, func(fields map[string]any) {
				for _, field := range []string{"owner", "holder", "token", "since", "floor"} {
					delete(fields, field)
				}
			})
		}
	case Meta:
		delete(values, meta)
	}
}
