package secret_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/snowlease/snowlease/providers/secret"
)

type config struct {
	User     string         `yaml:"user"`
	Password secret.String  `yaml:"password"`
	Other    *secret.String `yaml:"other"`
}

const word = "hunter2Geheim"

func TestNothingShowsIt(t *testing.T) {
	t.Parallel()
	other := secret.String(word)
	c := config{User: "app", Password: word, Other: &other}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10.3s"} {
		for _, value := range []any{c, &c, []config{c}, map[string]config{"a": c}, c.Password, c.Other, struct{ Config any }{c}} {
			got := fmt.Sprintf(verb, value)
			require.NotContains(t, got, word, verb)
			require.NotContains(t, got, fmt.Sprintf("%x", word), verb)
		}
	}
	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(h).Info("config", "config", c, "pointer", &c, "password", c.Password, "all", []config{c})
	}
	text, err := json.Marshal(c)
	require.NoError(t, err)
	more, err := yaml.Marshal(c)
	require.NoError(t, err)
	require.NotContains(t, log.String()+string(text)+string(more), word)
	require.Contains(t, log.String(), "password=***")
}

func TestReadAsAString(t *testing.T) {
	t.Parallel()
	var fromJSON, fromYAML config
	require.NoError(t, json.Unmarshal([]byte(`{"Password":"`+word+`"}`), &fromJSON))
	require.NoError(t, yaml.Unmarshal([]byte("password: "+word), &fromYAML))
	require.Equal(t, word+word, string(fromJSON.Password)+string(fromYAML.Password))
}
