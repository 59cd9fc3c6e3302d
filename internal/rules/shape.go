package rules

import (
	"fmt"
	"strings"

	"github.com/snowlease/snowlease/lease"
)

// shapeOf returns what a slot shows of a pin besides its times, for when the record of the namespace
// is lost: members of another layout or pool are refused then, too, and all of a namespace that was
// retired, whose shape is the greater text.
func shapeOf(pin lease.Pin) string {
	text, _, _ := strings.Cut(pin.String(), " max_ttl=")
	return text
}

// pinOf returns a pin of that shape, with the times of a request.
func pinOf(shape string, req lease.Request) lease.Pin {
	if pin := lease.ParsePin(shape); pin.Retired {
		return pin
	}
	return lease.ParsePin(fmt.Sprintf("%s max_ttl=%v skew=%v", shape, req.MaxTTL, req.Skew))
}
