package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
)

// finds requires that the doctor finds this, and no fault of another check.
func finds(t *testing.T, want string, on ...string) {
	t.Helper()
	_, out, errs := call(t, "", append([]string{"doctor"}, on...)...)
	require.Regexp(t, `(?m)^`+want, out, errs)
	for _, fault := range regexp.MustCompile(`(?m)^fault +\w+`).FindAllString(out, -1) {
		require.True(t, strings.HasPrefix(want, fault), out)
	}
}

// The doctor finds no fault of a cluster as it should be, and does not change it.
func TestDoctor(t *testing.T) {
	t.Parallel()
	e := testserver.NewEtcd(t, 3)
	store := storeOf(e.URLs()...)
	on := []string{store, "--namespace=orders"}
	exits(t, 0, "init --yes", on)
	revision := func() int64 {
		resp, err := dial(t, e.URLs()...).Get(t.Context(), "x")
		require.NoError(t, err)
		return resp.Header.Revision
	}
	before := revision()
	_, out, _ := call(t, "", append([]string{"doctor", "--replicas=4"}, on...)...)
	for _, check := range []string{"connect", "incarnation", "namespace", "times", "workers", "layout", "pool"} {
		require.Regexp(t, `(?m)^ok +`+check, out)
	}
	require.NotRegexp(t, `(?m)^(note|fault) `, out)
	require.Equal(t, before, revision(), "the doctor changes nothing")
	finds(t, "note   namespace      nothing is on record for audit", store, "--namespace=audit")

	for _, node := range e.Nodes {
		node.Kill()
	}
	finds(t, "fault  connect        .*cannot connect", store)
}
