package config

import (
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
)

// withKoanf reads the file at path. It ignores unknown keys.
func withKoanf(path string) (c config, err error) {
	k := koanf.New(".")
	if err := k.Load(file.Provider(path), yaml.Parser()); err != nil {
		return c, err
	}
	for key, block := range map[string]any{"": &c.Config, "idworker": &c.IDWorker, "gormplugin": &c.GORMPlugin} {
		if err := k.UnmarshalWithConf(key, block, koanf.UnmarshalConf{Tag: "yaml"}); err != nil {
			return c, err
		}
	}
	return c, nil
}
