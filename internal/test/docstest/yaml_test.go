package docstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/parsers/yaml"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/providers"
)

// settings are the library's parts of a configuration file.
type settings struct {
	IDWorker   *idworker.Config       `mapstructure:"idworker"`
	DB         *providers.DBConfig    `mapstructure:"db"`
	Redis      *providers.RedisConfig `mapstructure:"redis"`
	GORMPlugin *gormplugin.Config     `mapstructure:"gormplugin"`
	Others     map[string]any         `mapstructure:",remain"`
}

func checkYAML(text string) error {
	for _, document := range strings.Split(text, "\n---\n") {
		values, err := yaml.Parser().Unmarshal([]byte(document))
		if err != nil {
			return err
		}
		var s settings
		d, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
			DecodeHook:  mapstructure.StringToTimeDurationHookFunc(),
			ErrorUnused: true,
			MatchName:   func(key, field string) bool { return key == field },
			Result:      &s,
		})
		if err != nil {
			return err
		}
		if values["apiVersion"] != nil {
			continue // a Kubernetes resource
		}
		if err := d.Decode(values); err != nil {
			return err
		}
		var errs []error
		if s.IDWorker != nil {
			errs = append(errs, s.IDWorker.Validate())
		}
		if s.GORMPlugin != nil {
			errs = append(errs, s.GORMPlugin.Validate())
		}
		if len(s.Others) > 0 && (s.IDWorker != nil || s.DB != nil || s.Redis != nil) {
			errs = append(errs, fmt.Errorf("unknown keys %v", s.Others))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

func TestYAML(t *testing.T) {
	t.Parallel()
	each(t, func(_ *testing.T, b block) error {
		if b.lang == "json" && !json.Valid([]byte(b.text)) {
			return errors.New("is no JSON")
		}
		return checkYAML(b.text)
	}, "yaml", "json")
}
