package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// examine returns what the doctor finds, by check: "note: seen -> advice".
func examine(t *testing.T, args ...string) (code int, found map[string]string) {
	t.Helper()
	code, out, errs := call(t, "", append([]string{"doctor", "--json"}, args...)...)
	found = map[string]string{}
	for line := range strings.Lines(out) {
		var f lease.Finding
		require.NoError(t, json.Unmarshal([]byte(line), &f))
		require.False(t, f.Level == lease.LevelFault && f.Advice == "", "%+v", f)
		found[f.Check] += f.Level + ": " + f.Seen + " -> " + f.Advice + "\n"
	}
	require.NotEmpty(t, found, errs)
	return code, found
}

// finds requires that the doctor finds this, and no other fault.
func finds(t *testing.T, check, want string, args ...string) {
	t.Helper()
	code, found := examine(t, args...)
	require.Contains(t, found[check], want, "%v", found)
	faults := 0
	for name, text := range found {
		if strings.HasPrefix(text, "fault") {
			require.Equal(t, check, name, "%v", found)
			faults++
		}
	}
	require.Equal(t, faults > 0, code == 3, "%v", found)
}

// A cluster as it should be has neither faults nor notes, and is not changed.
func TestDoctor(t *testing.T) {
	t.Parallel()
	e := testserver.NewEtcd(t, 3)
	code, _, errs := call(t, "", "init", "--yes", "--namespace=orders", storeOf(e.URLs()...))
	require.Zero(t, code, errs)
	revision := func() int64 {
		resp, err := dial(t, e.URLs()...).Get(t.Context(), "x")
		require.NoError(t, err)
		return resp.Header.Revision
	}
	before := revision()
	code, found := examine(t, "--namespace=orders", "--replicas=4", storeOf(e.URLs()...))
	require.Zero(t, code)
	for _, check := range []string{"connect", "incarnation", "namespace", "times", "workers", "pool"} {
		require.True(t, strings.HasPrefix(found[check], "ok: "), "%s: %v", check, found)
		delete(found, check)
	}
	delete(found, "layout")
	require.Empty(t, found)
	require.Equal(t, before, revision(), "the doctor changes nothing")
	finds(t, "namespace", "note: nothing is on record for audit", "--namespace=audit", storeOf(e.URLs()...))

	for _, node := range e.Nodes {
		node.Kill()
	}
	finds(t, "connect", "cannot connect", storeOf(e.URLs()...))
}

// Who may not read the records, or has no account, learns it.
func TestDoctorRights(t *testing.T) {
	t.Parallel()
	e := testserver.NewEtcd(t, 1)
	for _, args := range [][]string{
		{"user", "add", "root:root"},
		{"user", "grant-role", "root", "root"},
		{"user", "add", "app:s3cret"},
		{"auth", "enable"},
	} {
		e.Ctl(e.Nodes[0], args...)
	}
	store := strings.Replace(storeOf(e.URLs()...), "://", "://app:s3cret@", 1)
	finds(t, "incarnation", "fault: ", store)
	_, found := examine(t, strings.Replace(store, "s3cret", "wrong", 1))
	require.Contains(t, found["connect"], "check that it runs, and username and password")
}

// A restore from a snapshot that shows is a quarantine, which the doctor notes.
func TestDoctorAfterARestore(t *testing.T) {
	t.Parallel()
	e := testserver.NewEtcd(t, 1)
	args := []string{"--namespace=orders", storeOf(e.URLs()...)}
	code, _, errs := call(t, "", append([]string{"init", "--yes"}, args...)...)
	require.Zero(t, code, errs)
	e.Restore(e.Save(e.Nodes[0]), "another")
	c, err := etcdseq.New(dial(t, e.URLs()...))
	require.NoError(t, err)
	_, err = c.Acquire(t.Context(), request())
	require.ErrorAs(t, err, new(*lease.QuarantineError))
	finds(t, "quarantine", "note: possible loss of records: ", args...)
}
