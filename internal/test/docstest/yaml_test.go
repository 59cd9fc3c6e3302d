package docstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-viper/mapstructure/v2"
	"go.yaml.in/yaml/v3"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/providers"
)

// settings are the library's parts of a configuration file. They are decoded as viper and koanf
// do, by the yaml tags.
type settings struct {
	IDWorker   *idworker.Config       `yaml:"idworker"`
	DB         *providers.DBConfig    `yaml:"db"`
	Redis      *providers.RedisConfig `yaml:"redis"`
	GORMPlugin *gormplugin.Config     `yaml:"gormplugin"`
	Others     map[string]any         `yaml:",remain"`
}

func checkYAML(text string) error {
	for _, document := range strings.Split(text, "\n---\n") {
		var values map[string]any
		if err := yaml.Unmarshal([]byte(document), &values); err != nil {
			return err
		}
		var s settings
		d, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
			DecodeHook:  mapstructure.StringToTimeDurationHookFunc(),
			ErrorUnused: true,
			TagName:     "yaml",
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
