package hostseq

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

type host struct {
	process   string // the input of the hash, which differs between processes and hosts as far as possible
	container bool
	dir       string // the default directory
	dirErr    error
}

func inspect() host {
	h := host{container: inContainer(os.Getenv, exists)}
	name, _ := os.Hostname()
	machine, _ := os.ReadFile("/etc/machine-id") // in a container, the name has to differ
	h.process = strings.Join([]string{name, string(machine), strconv.Itoa(os.Getpid())}, "\n")
	h.dir, h.dirErr = defaultDir(runtime.GOOS, os.Geteuid(), os.Getenv)
	return h
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func inContainer(env func(string) string, exists func(string) bool) bool {
	return env("KUBERNETES_SERVICE_HOST") != "" || env("container") != "" ||
		exists("/.dockerenv") || exists("/run/.containerenv")
}

// defaultDir returns a directory that survives a restart of the host, unlike /var/lock and /tmp,
// and that only its user can write to. It fails for a service without such a directory, because a
// private /tmp would look like a shared one.
func defaultDir(system string, uid int, env func(string) string) (string, error) {
	base, below := "HOME", ".local/state"
	switch {
	case system == "windows": // the user's profile is inaccessible to other users
		base, below = "LOCALAPPDATA", ""
	case uid == 0:
		return "/var/lib/snowlease", nil
	case filepath.IsAbs(env("XDG_STATE_HOME")):
		base, below = "XDG_STATE_HOME", ""
	case system == "darwin":
		below = "Library/Application Support"
	}
	if !filepath.IsAbs(env(base)) {
		return "", fmt.Errorf("there is no directory for locks and records: %s is not set", base)
	}
	return filepath.Join(env(base), below, "snowlease"), nil
}
