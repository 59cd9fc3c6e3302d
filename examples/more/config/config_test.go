package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/viper"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// every returns the path of a file with all keys of the library, and its values.
func every(t *testing.T) (path string, want config) {
	t.Helper()
	text, err := os.ReadFile("../../fxapp/config.example.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &want))
	require.Equal(t, 30*time.Second, want.IDWorker.Lease.TTL)
	var keys map[string]any
	require.NoError(t, yaml.Unmarshal(text, &keys))
	text, err = yaml.Marshal(map[string]any{
		"db": keys["db"], "redis": keys["redis"], "idworker": keys["idworker"], "gormplugin": keys["gormplugin"],
	})
	require.NoError(t, err)
	return write(t, string(text)), want
}

func write(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestEveryKey(t *testing.T) {
	path, want := every(t)
	c, err := withKoanf(path)
	require.NoError(t, err)
	require.Equal(t, want, c)

	t.Setenv("SHOP_DB_MAX_OPEN", "7")
	c, err = withViper(path)
	require.NoError(t, err)
	want.DB.MaxOpen = 7
	require.Equal(t, want, c)
}

func TestViper(t *testing.T) {
	t.Setenv("SHOP_DB_DSN", "env.db")
	t.Setenv("SHOP_IDWORKER_LEASE_MAX_TTL", "50s")
	t.Setenv("SHOP_IDWORKER_WORKERS", "0-15")
	c, err := withViper(write(t, "idworker: {namespace: orders}"))
	require.NoError(t, err)
	require.Equal(t, "env.db", string(c.DB.DSN))
	require.Equal(t, 50*time.Second, c.IDWorker.Lease.MaxTTL, "a variable whose key the file lacks")
	require.Equal(t, "orders", c.IDWorker.Namespace)
	require.EqualValues(t, "0-15", c.IDWorker.Workers)

	_, err = withViper(write(t, "idworker: {namespace: orders, lease: {tll: 50s}}"))
	require.ErrorContains(t, err, "tll")
}

func TestUnmarshalKey(t *testing.T) {
	path, _ := every(t)
	t.Setenv("SHOP_DB_MAX_OPEN", "7")
	v := viper.New()
	v.SetConfigFile(path)
	v.SetEnvPrefix("shop")
	v.AutomaticEnv()
	require.NoError(t, v.ReadInConfig())
	v.Set("idworker.wait", "3s")
	var block config
	require.NoError(t, v.UnmarshalKey("idworker", &block.IDWorker, asTagged))
	require.NoError(t, v.UnmarshalKey("db", &block.DB, asTagged))
	require.Empty(t, block.IDWorker.Namespace, "Set has overridden a key of the block")
	require.Equal(t, 20, block.DB.MaxOpen, "not that of the environment")
}
