package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	"github.com/snowlease/snowlease/bench/internal/measure"
)

// sampling is set for processes that take one sample: the task comes by standard input,
// the sample goes by standard output.
const sampling = "SNOWLEASE_BENCH_SAMPLE"

// child takes a sample if this process is to.
func child() bool {
	if os.Getenv(sampling) == "" {
		return false
	}
	var t measure.Task
	err := json.NewDecoder(os.Stdin).Decode(&t)
	if err == nil {
		var s measure.Sample
		if s, err = measure.Run(t); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(s)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// sample takes a sample in a process of its own.
func sample(ctx context.Context, t measure.Task) (s measure.Sample, err error) {
	self, err := os.Executable()
	if err != nil {
		return s, err
	}
	task, err := json.Marshal(t)
	if err != nil {
		return s, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), sampling+"=1")
	var out, faults bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &faults
	in, err := cmd.StdinPipe()
	if err != nil {
		return s, err
	}
	if err := cmd.Start(); err != nil {
		return s, err
	}
	limited := func() error { return nil }
	if t.Quota > 0 { // before the task, so that all of the sample is under it
		if limited, err = measure.Limit(cmd.Process.Pid, t.Quota); err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return s, err
		}
	}
	_, _ = in.Write(task)
	_ = in.Close()
	err = cmd.Wait()
	if gone := limited(); gone != nil {
		return s, gone
	}
	if err != nil {
		return s, fmt.Errorf("%s of %s: %w: %s", t.What, t.Maker, err, faults.String())
	}
	return s, json.Unmarshal(out.Bytes(), &s)
}
