package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Limit gives the process with that id so much of a core and no more, by a control
// group of its own, and returns what removes the group once the process has ended. The
// error says why this machine does not allow it.
func Limit(pid int, cores float64) (remove func() error, err error) {
	const period = 100_000 // µs, which is what container engines use
	quota := strconv.Itoa(int(cores * period))
	group, files := "/sys/fs/cgroup/cpu", map[string]string{"cpu.cfs_period_us": strconv.Itoa(period), "cpu.cfs_quota_us": quota}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		group, files = "/sys/fs/cgroup", map[string]string{"cpu.max": fmt.Sprint(quota, " ", period)}
	}
	group = filepath.Join(group, fmt.Sprint("snowlease-bench-", pid))
	if err := os.Mkdir(group, 0o755); err != nil {
		return nil, err
	}
	remove = func() error { return os.Remove(group) }
	files["cgroup.procs"] = strconv.Itoa(pid)
	for _, file := range []string{"cpu.max", "cpu.cfs_period_us", "cpu.cfs_quota_us", "cgroup.procs"} {
		if text, ok := files[file]; ok {
			if err := os.WriteFile(filepath.Join(group, file), []byte(text), 0o644); err != nil {
				_ = remove()
				return nil, err
			}
		}
	}
	return remove, nil
}
