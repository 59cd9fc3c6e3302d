// Package config reads the library's configuration with viper and with koanf.
package config

import (
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

// every has every key of the library with its default, and some of fxapp.
const every = "../../fxapp/config.example.yaml"

type config struct {
	providers.Config `yaml:",inline"`
	IDWorker         idworker.Config   `yaml:"idworker"`
	GORMPlugin       gormplugin.Config `yaml:"gormplugin"`
}

func want(t *testing.T) config {
	t.Helper()
	text, err := os.ReadFile(every)
	require.NoError(t, err)
	var c config
	require.NoError(t, yamlv3.Unmarshal(text, &c))
	require.Equal(t, 30*time.Second, c.IDWorker.Lease.TTL)
	return c
}

func newViper(t *testing.T) *viper.Viper {
	t.Helper()
	v := viper.New()
	v.SetConfigFile(every)
	require.NoError(t, v.ReadInConfig())
	return v
}

func yamlTags(d *mapstructure.DecoderConfig) { d.TagName, d.SquashTagOption = "yaml", "inline" }

func TestViper(t *testing.T) {
	var c config
	require.NoError(t, newViper(t).Unmarshal(&c, yamlTags))
	require.Equal(t, want(t), c)
}

// Unmarshal sees overrides, and keeps the rest of their blocks. UnmarshalKey does neither.
func TestViperOverrides(t *testing.T) {
	v, c, want := newViper(t), config{}, want(t)
	v.Set("idworker.wait", "3s")
	t.Setenv("SHOP_DB_MAX_OPEN", "7")
	v.SetEnvPrefix("shop")
	v.SetEnvKeyReplacer(strings.NewReplacer(".", "_"))
	v.AutomaticEnv()
	require.NoError(t, v.Unmarshal(&c, yamlTags))
	want.IDWorker.Wait, want.DB.MaxOpen = 3*time.Second, 7
	require.Equal(t, want, c)

	var block config
	require.NoError(t, v.UnmarshalKey("idworker", &block.IDWorker, yamlTags))
	require.NoError(t, v.UnmarshalKey("db", &block.DB, yamlTags))
	require.Empty(t, block.IDWorker.Namespace)
	require.Equal(t, 20, block.DB.MaxOpen)
}

func TestKoanf(t *testing.T) {
	k := koanf.New(".")
	require.NoError(t, k.Load(file.Provider(every), yaml.Parser()))
	var c config
	tag := koanf.UnmarshalConf{Tag: "yaml"}
	require.NoError(t, k.UnmarshalWithConf("", &c.Config, tag))
	require.NoError(t, k.UnmarshalWithConf("idworker", &c.IDWorker, tag))
	require.NoError(t, k.UnmarshalWithConf("gormplugin", &c.GORMPlugin, tag))
	require.Equal(t, want(t), c)
}
