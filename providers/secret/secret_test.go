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

func filled() config {
	other := secret.String(word)
	return config{User: "app", Password: word, Other: &other}
}

func TestNothingShowsIt(t *testing.T) {
	t.Parallel()
	c := filled()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10.3s", "%T %v"} {
		for _, value := range []any{c, &c, []config{c}, map[string]config{"a": c}, c.Password, c.Other, struct{ Config any }{c}} {
			args := []any{value, value}
			if verb != "%T %v" {
				args = args[:1]
			}
			got := fmt.Sprintf(verb, args...)
			require.NotContains(t, got, word, verb)
			require.NotContains(t, got, fmt.Sprintf("%x", word), verb)
		}
	}
	require.NotContains(t, fmt.Sprint(c)+fmt.Sprintln(c), word)

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
	var c config
	require.NoError(t, json.Unmarshal([]byte(`{"Password":"`+word+`"}`), &c))
	require.Equal(t, word, string(c.Password))
	c = config{}
	require.NoError(t, yaml.Unmarshal([]byte("password: "+word), &c))
	require.Equal(t, word, string(c.Password))
}
