package console

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// process tells which process this is, by itself: what the center calls it need not.
type process struct {
	Program string `json:"program"`
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	// Version is the version of the program's module, which go build derives from its
	// repository, or "(devel)".
	Version   string    `json:"version"`
	Snowlease string    `json:"snowlease"` // the version of this library
	Go        string    `json:"go"`
	Started   time.Time `json:"started"`
}

// started is when the process loaded this package, which is when it began.
var started = now().UTC()

const module = "github.com/snowlease/snowlease"

func thisProcess() process {
	p := process{Program: filepath.Base(os.Args[0]), PID: os.Getpid(), Version: "(unknown)", Snowlease: "(unknown)", Started: started}
	p.Host, _ = os.Hostname()
	if info, ok := debug.ReadBuildInfo(); ok {
		p.Version, p.Snowlease, p.Go = cmp.Or(info.Main.Version, "(devel)"), library(info), info.GoVersion
	}
	return p
}

// library returns the version of this library.
func library(info *debug.BuildInfo) string {
	if info.Main.Path == module {
		return cmp.Or(info.Main.Version, "(devel)")
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
