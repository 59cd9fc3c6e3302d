package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Lines are what the benchmarks of a package said: by name, without "Benchmark" and the
// processors, and unit; the median where one ran several times.
type Lines map[string]map[string]float64

var ending = regexp.MustCompile(`-\d+$`)

// goBench runs the benchmarks of a package, from dir.
func goBench(ctx context.Context, dir string, args ...string) (Lines, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-run", "^$", "-bench"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CI=true") // a server that is missing is a failure
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out.String())
	}
	lines := parse(out.Bytes())
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s: there is no such benchmark\n%s", strings.Join(cmd.Args, " "), out.String())
	}
	return lines, nil
}

func parse(out []byte) Lines {
	values := map[string]map[string][]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := ending.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				continue
			}
			if values[name] == nil {
				values[name] = map[string][]float64{}
			}
			values[name][fields[i+1]] = append(values[name][fields[i+1]], v)
		}
	}
	l := Lines{}
	for name, units := range values {
		l[name] = map[string]float64{}
		for unit, vs := range units {
			l[name][unit] = median(vs)
		}
	}
	return l
}

func median(vs []float64) float64 {
	if len(vs) == 0 {
		return 0
	}
	vs = slices.Sorted(slices.Values(vs))
	return (vs[(len(vs)-1)/2] + vs[len(vs)/2]) / 2
}
