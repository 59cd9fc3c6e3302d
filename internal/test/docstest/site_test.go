package docstest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/snowlease/snowlease/snowflake"

	"github.com/stretchr/testify/require"
)

// TestDecoderKnowsPresets checks that the decoder of the site has the presets of package
// snowflake.
func TestDecoderKnowsPresets(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "site/presets.json"))
	require.NoError(t, err)
	got, want := map[string]snowflake.Layout{}, map[string]snowflake.Layout{}
	require.NoError(t, json.Unmarshal(text, &got))

	_, err = snowflake.Preset("?")
	require.Error(t, err)
	_, list, found := strings.Cut(err.Error(), "choose ")
	require.True(t, found, "the error lists the presets: %v", err)
	for _, name := range regexp.MustCompile(`, | or `).Split(list, -1) {
		want[name], err = snowflake.Preset(name)
		require.NoError(t, err)
	}
	for name, layout := range got {
		require.Equal(t, want[name].String(), layout.String(), name)
	}
	require.Len(t, got, len(want))
}
