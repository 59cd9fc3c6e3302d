// Package config reads the library's configuration with viper and with koanf.
package config

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/viper"
	"github.com/stretchr/testify/require"
	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/providers"
)

// every has the keys of the library, and those of fxapp.
const every = "../../fxapp/config.example.yaml"

type config struct {
	Listen, Operators string
	Hosts             []string
	LogLevel          string `yaml:"log_level"`
	Once              bool
	OrderIDSecret     string `yaml:"order_id_secret"`
	providers.Config  `yaml:",inline"`
	IDWorker          idworker.Config   `yaml:"idworker"`
	GORMPlugin        gormplugin.Config `yaml:"gormplugin"`
}

func want(t *testing.T) config {
	t.Helper()
	text, err := os.ReadFile(every)
	require.NoError(t, err)
	var c config
	d := yamlv3.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	require.NoError(t, d.Decode(&c))
	require.Equal(t, 30*time.Second, c.IDWorker.Lease.TTL)
	return c
}

func newViper(t *testing.T, text string, options ...viper.Option) *viper.Viper {
	t.Helper()
	v := viper.NewWithOptions(options...)
	v.SetConfigType("yaml")
	require.NoError(t, v.ReadConfig(strings.NewReader(text)))
	v.SetEnvPrefix("shop")
	v.SetEnvKeyReplacer(strings.NewReplacer(".", "_"))
	v.AutomaticEnv()
	return v
}

func asDocumented(d *mapstructure.DecoderConfig) {
	d.TagName, d.SquashTagOption, d.ErrorUnused = "yaml", "inline", true
}

func TestViper(t *testing.T) {
	text, err := os.ReadFile(every)
	require.NoError(t, err)
	t.Setenv("SHOP_DB_MAX_OPEN", "7")
	for _, options := range [][]viper.Option{nil, {viper.ExperimentalBindStruct()}} {
		v, c, want := newViper(t, string(text), options...), config{}, want(t)
		v.Set("idworker.wait", "3s")
		require.NoError(t, v.Unmarshal(&c, asDocumented))
		want.IDWorker.Wait, want.DB.MaxOpen = 3*time.Second, 7
		require.Equal(t, want, c)

		var block config
		require.NoError(t, v.UnmarshalKey("idworker", &block.IDWorker, asDocumented))
		require.NoError(t, v.UnmarshalKey("db", &block.DB, asDocumented))
		require.Empty(t, block.IDWorker.Namespace, "Set has overridden a key of the block")
		require.Equal(t, 20, block.DB.MaxOpen, "not that of the environment")
	}
}

// With ExperimentalBindStruct, viper reads variables of keys that the file has not.
func TestViperVariables(t *testing.T) {
	t.Setenv("SHOP_DB_DSN", "env.db")
	t.Setenv("SHOP_IDWORKER_LEASE_MAX_TTL", "50s")
	var c config
	require.NoError(t, newViper(t, "idworker: {namespace: orders}", viper.ExperimentalBindStruct()).Unmarshal(&c, asDocumented))
	require.Equal(t, "env.db", string(c.DB.DSN))
	require.Equal(t, 50*time.Second, c.IDWorker.Lease.MaxTTL)
	require.Equal(t, "orders", c.IDWorker.Namespace)
}

func TestUnknownKey(t *testing.T) {
	const text = "idworker: {namespace: orders, lease: {tll: 50s}}"
	var c config
	require.ErrorContains(t, newViper(t, text).Unmarshal(&c, asDocumented), "tll")
}

func TestKoanf(t *testing.T) {
	k := koanf.New(".")
	require.NoError(t, k.Load(file.Provider(every), yaml.Parser()))
	var c config
	tag := koanf.UnmarshalConf{Tag: "yaml"}
	require.NoError(t, k.UnmarshalWithConf("", &c.Config, tag))
	require.NoError(t, k.UnmarshalWithConf("idworker", &c.IDWorker, tag))
	require.NoError(t, k.UnmarshalWithConf("gormplugin", &c.GORMPlugin, tag))
	want := want(t)
	require.Equal(t, want.Config, c.Config)
	require.Equal(t, want.IDWorker, c.IDWorker)
	require.Equal(t, want.GORMPlugin, c.GORMPlugin)
}
