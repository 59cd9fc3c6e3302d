// Package deploy_test checks the deployment examples against the settings of the program.
package deploy_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/providers"
)

// stop is the longest time that fxapp takes to stop.
const stop = 15 * time.Second

// names returns the environment variables that the tags of a struct name.
func names(prefix string, typ reflect.Type, all map[string]bool) {
	for _, f := range reflect.VisibleFields(typ) {
		if name, ok := f.Tag.Lookup("env"); ok {
			all[prefix+name] = true
		}
		if more, ok := f.Tag.Lookup("envPrefix"); ok {
			if f.Type.Kind() == reflect.Struct { // lists have no variables
				names(prefix+more, f.Type, all)
			}
		}
	}
}

// What is released has passed the tests, is built by the current Go and nothing that can be moved,
// and only jobs that run no code of the repository can write.
func TestRelease(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../.github/workflows/release.yml")
	require.NoError(t, err)
	var workflow struct {
		Jobs map[string]struct {
			Needs       string
			Permissions map[string]string
			Env         map[string]string
			Steps       []struct{ Uses, Run string }
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &workflow))
	require.Len(t, workflow.Jobs, 4)
	for name, needs := range map[string]string{"test": "", "build": "test", "publish": "build", "image": "build"} {
		job := workflow.Jobs[name]
		require.Equal(t, needs, job.Needs, name)
		attested := false
		for _, step := range job.Steps {
			require.Regexp(t, `^([\w./-]+@[0-9a-f]{40})?$`, step.Uses)
			attested = attested || strings.HasPrefix(step.Uses, "actions/attest-build-provenance@")
			if job.Permissions["attestations"] == "write" {
				require.NotRegexp(t, `make |scripts/|go (build|run)`, step.Run)
			}
		}
		require.Equal(t, needs == "build", attested, name)
		require.Equal(t, attested, job.Permissions["attestations"] == "write", name)
	}
	require.Equal(t, "git merge-base --is-ancestor HEAD origin/main", workflow.Jobs["test"].Steps[2].Run)
	image, err := os.ReadFile("compose/Dockerfile")
	require.NoError(t, err)
	ci, err := os.ReadFile("../.github/workflows/ci.yml")
	require.NoError(t, err)
	current := strings.TrimPrefix(workflow.Jobs["build"].Env["GOTOOLCHAIN"], "go")
	for _, file := range []string{string(image), string(text), string(ci)} {
		require.Regexp(t, `golang:`+current+`\S*@sha256:`, file)
		for _, name := range regexp.MustCompile(`golang:\S+`).FindAllString(file, -1) {
			require.Regexp(t, `@sha256:[0-9a-f]{64}$`, name, "a tag can be moved")
		}
	}
}

// Every variable in the examples is a setting.
func TestVariables(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"FXAPP_LISTEN": true, "FXAPP_OPERATORS": true, "FXAPP_HOSTS": true}
	names("FXAPP_IDWORKER_", reflect.TypeFor[idworker.Config](), known)
	names("FXAPP_", reflect.TypeFor[providers.Config](), known)
	require.True(t, known["FXAPP_IDWORKER_LAYOUT_EPOCH"] && known["FXAPP_DB_DSN"], known)
	for _, dir := range []string{"kubernetes", "compose", "systemd"} {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		used := 0
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, name := range regexp.MustCompile(`FXAPP_\w+`).FindAllString(string(text), -1) {
				require.True(t, known[name], "%s: %s is no setting", file, name)
				used++
			}
		}
		require.Positive(t, used, dir)
	}
}

type (
	get   struct{ Path, Port string }
	probe struct {
		HTTPGet get `yaml:"httpGet"`
	}
	port struct {
		Name, Port string
		TargetPort string `yaml:"targetPort"`
	}
)

type workload struct {
	Kind string
	Spec struct {
		Replicas int64
		Ports    []port
		Ingress  []struct{ Ports []port }
		Template struct {
			Spec struct {
				Grace      int `yaml:"terminationGracePeriodSeconds"`
				Containers []struct {
					Env       []struct{ Name, Value string }
					Readiness probe `yaml:"readinessProbe"`
					Liveness  probe `yaml:"livenessProbe"`
					Startup   probe `yaml:"startupProbe"`
					Lifecycle struct {
						PreStop struct{ Sleep struct{ Seconds int } } `yaml:"preStop"`
					}
				}
			}
		}
	}
}

func TestKubernetes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("kubernetes/orders.yaml")
	require.NoError(t, err)
	kinds := map[string]workload{}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var w workload
		err := d.Decode(&w)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		kinds[w.Kind] = w
	}
	require.Len(t, kinds, 4)
	spec := kinds["Deployment"].Spec
	pod := spec.Template.Spec
	require.Len(t, pod.Containers, 1)
	c := pod.Containers[0]
	for _, line := range []string{"automountServiceAccountToken: false", "seccompProfile: {type: RuntimeDefault}", "capabilities: {drop: [ALL]}"} {
		require.Contains(t, string(text), line)
	}
	probed := probe{HTTPGet: get{"/healthz", "operators"}}
	require.Equal(t, []probe{probed, probed, probed}, []probe{c.Readiness, c.Liveness, c.Startup}, "a restart brings no lease back")
	// Nothing but the kubelet reaches the operators' port.
	require.Equal(t, []port{{Port: "http"}}, kinds["NetworkPolicy"].Spec.Ingress[0].Ports)
	require.Equal(t, []port{{Name: "http", Port: "80", TargetPort: "http"}}, kinds["Service"].Spec.Ports)
	require.Positive(t, c.Lifecycle.PreStop.Sleep.Seconds)
	require.Greater(t, seconds(pod.Grace), seconds(c.Lifecycle.PreStop.Sleep.Seconds)+stop)

	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	requireValid(t, env, spec.Replicas)
}

func TestCompose(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("compose/compose.yaml")
	require.NoError(t, err)
	var file struct {
		Services map[string]struct {
			Build struct{ Context, Dockerfile string }
			Image string
			Env   map[string]string `yaml:"environment"`
			Grace time.Duration     `yaml:"stop_grace_period"`

			Deploy struct{ Replicas int64 }
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	for _, line := range []string{"cap_drop: [ALL]", "no-new-privileges:true"} {
		require.Contains(t, string(text), line)
	}
	orders := file.Services["orders"]
	require.Greater(t, orders.Grace, stop)
	require.FileExists(t, filepath.Join("compose", orders.Build.Context, orders.Build.Dockerfile))
	require.Equal(t, orders.Image, file.Services["snowlease"].Image)
	require.Contains(t, file.Services["snowlease"].Env, "SNOWLEASE_STORE")
	requireValid(t, orders.Env, orders.Deploy.Replicas)
}

func TestSystemd(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("systemd/orders@.service")
	require.NoError(t, err)
	set, env := map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '[' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		require.True(t, ok, line)
		if key == "Environment" {
			name, value, ok := strings.Cut(value, "=")
			require.True(t, ok, line)
			env[name] = value
			continue
		}
		set[key] = value
	}
	limit, err := time.ParseDuration(set["TimeoutStopSec"] + "s")
	require.NoError(t, err)
	require.Greater(t, limit, stop)
	require.Equal(t, "SIGTERM", set["KillSignal"])
	requireValid(t, env, 1)
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// requireValid checks that the variables are a valid configuration for the replicas.
func requireValid(t *testing.T, env map[string]string, replicas int64) {
	t.Helper()
	settings := map[string]string{}
	for name, value := range env {
		if key, ok := strings.CutPrefix(name, "FXAPP_IDWORKER_"); ok && value != "" {
			settings[strings.ToLower(key)] = value
		}
	}
	require.NotEmpty(t, settings["namespace"])
	text, err := yaml.Marshal(settings)
	require.NoError(t, err)
	var c idworker.Config
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	require.NoError(t, d.Decode(&c))
	r, err := c.Request()
	require.NoError(t, err)
	require.LessOrEqual(t, replicas, snowlease.Pool{Last: r.Pool - 1}.Replicas())
}
