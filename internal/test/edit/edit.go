// Package edit changes records of stores that keep a namespace in texts, as another program or a
// person does.
package edit

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Part writes a value into a field of a part: that of a worker id or, for -1, of the namespace.
func Part(t testing.TB, parts map[string]string, worker int64, field, value string) {
	t.Helper()
	name, fields := Name(worker), map[string]json.RawMessage{}
	require.NoError(t, json.Unmarshal([]byte(parts[name]), &fields))
	fields[field] = json.RawMessage(value)
	if _, err := strconv.ParseFloat(value, 64); err != nil || field == "owner" || field == "pin" {
		text, err := json.Marshal(value)
		require.NoError(t, err)
		fields[field] = text
	}
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	parts[name] = string(text)
}

// Name returns the name of a part: that of a worker id or, for -1, of the namespace.
func Name(worker int64) string {
	if worker < 0 {
		return "meta"
	}
	return strconv.FormatInt(worker, 10)
}

// Record changes the parts of one record.
func Record(t testing.TB, value []byte, change func(parts map[string]string)) []byte {
	t.Helper()
	record, parts := map[string]json.RawMessage{}, map[string]string{}
	require.NoError(t, json.Unmarshal(value, &record))
	for name, text := range record {
		parts[name] = string(text)
	}
	change(parts)
	clear(record)
	for name, text := range parts {
		record[name] = json.RawMessage(text)
	}
	value, err := json.Marshal(record)
	require.NoError(t, err)
	return value
}
