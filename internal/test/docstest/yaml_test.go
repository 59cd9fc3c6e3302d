package docstest

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/providers/redis"
	"github.com/snowlease/snowlease/providers/sqldb"
)

// settings are the library's parts of a configuration file.
type settings struct {
	IDWorker   *idworker.Config   `yaml:"idworker"`
	DB         *sqldb.Config      `yaml:"db"`
	Redis      *redis.Config      `yaml:"redis"`
	GORMPlugin *gormplugin.Config `yaml:"gormplugin"`
}

// checkYAML checks the documents of a text that have one of the settings.
func checkYAML(text string) error {
	for _, document := range strings.Split(text, "\n---\n") {
		var values map[string]any
		if err := yaml.Unmarshal([]byte(document), &values); err != nil {
			return err
		}
		ours := func(key string) bool { return slices.Contains([]string{"idworker", "db", "redis", "gormplugin"}, key) }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(values)), ours) {
			continue
		}
		var s settings
		d := yaml.NewDecoder(strings.NewReader(document))
		d.KnownFields(true)
		if err := d.Decode(&s); err != nil {
			return err
		}
		var errs []error
		if s.IDWorker != nil {
			errs = append(errs, s.IDWorker.Validate())
		}
		if s.GORMPlugin != nil {
			errs = append(errs, s.GORMPlugin.Validate())
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
