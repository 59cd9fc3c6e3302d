// Package logtest lets tests read a log while it is written.
package logtest

import (
	"regexp"
	"strings"
	"sync"
)

// A Journal collects the output of a slog.TextHandler. The zero value is empty. All
// methods are safe for concurrent use.
type Journal struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer. It never fails.
func (j *Journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// String returns everything that was logged.
func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// Lines returns the lines, without their times.
func (j *Journal) Lines() []string {
	return regexp.MustCompile(`level=.*`).FindAllString(j.String(), -1)
}
