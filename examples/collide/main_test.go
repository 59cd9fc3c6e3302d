package main

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestChance allows measured chances six standard deviations from the computed ones.
func TestChance(t *testing.T) {
	t.Parallel()
	const deployments = 100
	for _, w := range ways() {
		for _, n := range []int{2, 8, 32} {
			r, p := simulate(w, n, deployments, 1), w.chance(n)
			require.InDelta(t, p*deployments, r.sharing, 6*math.Sqrt(deployments*p*(1-p))+1, "%s, %d processes", w.name, n)
			require.Equal(t, deployments*n*idsPerProcess, r.ids)
		}
	}
}

func TestRepeated(t *testing.T) {
	t.Parallel()
	var r result
	r.add([]int64{1, 2, 3}, []int64{10, 20, 30})
	require.Equal(t, result{1, 0, 3, 0}, r)
	r.add([]int64{1, 2, 1}, []int64{10, 20, 10, 10})
	require.Equal(t, result{2, 1, 7, 2}, r)
}

// TestLeased checks that the row of the leases is the last one, and has nothing but zeros.
func TestLeased(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-deployments", "1"}, &out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Equal(t, []string{"a", "lease", "0.0", "0.0", "0.0", "0", "0", "0"}, strings.Fields(lines[len(lines)-1]))
	require.Error(t, run(t.Context(), []string{"-nope"}, &out))
	require.EqualError(t, run(t.Context(), []string{"-deployments", "0"}, &out), "-deployments 0: at least 1")
}
