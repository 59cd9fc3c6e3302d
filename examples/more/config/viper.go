// Package config reads the library's configuration with viper and with koanf.
package config

import (
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/providers"
)

type config struct {
	providers.Config `yaml:",inline"`  // db and redis
	IDWorker         idworker.Config   `yaml:"idworker"`
	GORMPlugin       gormplugin.Config `yaml:"gormplugin"`
}

// withViper reads the file at path, and then variables such as SHOP_IDWORKER_LEASE_TTL.
func withViper(path string) (config, error) {
	// Without this option, viper reads variables only for keys that the file has.
	v := viper.NewWithOptions(viper.ExperimentalBindStruct())
	v.SetConfigFile(path)
	v.SetEnvPrefix("shop")
	v.SetEnvKeyReplacer(strings.NewReplacer(".", "_"))
	v.AutomaticEnv()
	if err := v.ReadInConfig(); err != nil {
		return config{}, err
	}
	var c config
	// Do not use UnmarshalKey: it reads no variables, and after a Set it drops the rest of the block.
	err := v.Unmarshal(&c, asTagged)
	return c, err
}

// asTagged makes viper use the yaml tags. Otherwise it leaves providers.Config empty and
// ignores unknown keys.
func asTagged(d *mapstructure.DecoderConfig) {
	d.TagName, d.SquashTagOption, d.ErrorUnused = "yaml", "inline", true
}
