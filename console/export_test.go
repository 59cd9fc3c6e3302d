package console

import (
	"maps"
	"net/http"
	"slices"
	"time"
)

// Dress lets a console show a pod that started at a time, in place of the test.
func Dress(h http.Handler, pod string, started time.Time) {
	h.(*console).process = process{Program: "orders", Host: pod, PID: 1, Started: started.UTC()}
}

// NewOutlook makes newOutlook available to tests.
var NewOutlook = newOutlook

// NewSegmentOutlook makes newSegmentOutlook available to tests.
var NewSegmentOutlook = newSegmentOutlook

// Links returns those of outlooks.
func Links() []string {
	return append(slices.Collect(maps.Values(links)), lateTimes, noNumbers, fewNumbers, lastNumbers, lostNumbers)
}

// Of returns the console of workers, which need not be real.
func Of(workers ...worker) http.Handler { return newConsole(Config{}, workers...) }
