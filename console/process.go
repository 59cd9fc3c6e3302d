package console

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
)

// process tells which process this is.
type process struct {
	Program string `json:"program"`
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	build
}

// build is what all workers of the process have in common.
type build struct {
	// Version is the version of the program's module or, without one, the revision that it
	// was built from, or "(devel)".
	Version   string    `json:"version"`
	Snowlease string    `json:"snowlease"` // the version of this library
	Go        string    `json:"go"`
	Started   time.Time `json:"started"`
}

// started is when the process loaded this package, which is when it began.
var started = now().UTC()

const module = "github.com/snowlease/snowlease"

func readBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build{Version: "(unknown)", Snowlease: "(unknown)", Started: started}
	}
	return build{Version: version(info), Snowlease: library(info), Go: info.GoVersion, Started: started}
}

// library returns the version of this library.
func library(info *debug.BuildInfo) string {
	if info.Main.Path == module {
		return version(info)
	}
	for _, d := range info.Deps {
		switch {
		case d.Path != module:
		case d.Replace != nil:
			return "replaced by " + strings.TrimSpace(d.Replace.Path+" "+d.Replace.Version)
		default:
			return d.Version
		}
	}
	return "(unknown)"
}

func version(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, modified := "(devel)", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = " (modified)"
		}
	}
	return revision + modified
}

// process returns the names by which the center knows this process, if the holder is in
// the form of idworker's default, program@host:pid.
func (b build) process(holder string) process {
	p := process{Program: filepath.Base(os.Args[0]), PID: os.Getpid(), build: b}
	p.Host, _ = os.Hostname()
	program, at, ok := strings.Cut(printable.Text(holder), "@")
	if i := strings.LastIndexByte(at, ':'); ok && i > 0 {
		if pid, err := strconv.Atoi(at[i+1:]); err == nil {
			p.Program, p.Host, p.PID = program, at[:i], pid
		}
	}
	return p
}
