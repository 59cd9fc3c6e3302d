package console

import (
	"os"
	"path/filepath"
	"time"
)

// process identifies this process independently of its holder name in the center.
type process struct {
	Program string    `json:"program"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// started is when the process loaded this package, which is close to its start.
var started = now().UTC()

func thisProcess() process {
	p := process{Program: filepath.Base(os.Args[0]), PID: os.Getpid(), Started: started}
	p.Host, _ = os.Hostname()
	return p
}
