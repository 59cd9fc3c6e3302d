package console

import (
	"maps"
	"net/http"
	"slices"
	"time"
)

// Dress gives a console other versions and another start than those of the test.
func Dress(h http.Handler, version, snowlease string, started time.Time) {
	h.(*console).build = build{Version: version, Snowlease: snowlease, Go: "go1.26", Started: started.UTC()}
}

// NewOutlook makes newOutlook available to tests.
var NewOutlook = newOutlook

// NewSegmentOutlook makes newSegmentOutlook available to tests.
var NewSegmentOutlook = newSegmentOutlook

// Links returns those of outlooks.
func Links() []string { return append(slices.Collect(maps.Values(links)), lateTimes) }
