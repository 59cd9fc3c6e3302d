package redisconn

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/snowlease/snowlease/internal/printable"
)

// A Reply is the reply of a script: a verdict and its values. Lists in it are flattened, and nil is
// an empty string.
type Reply []string

func parse(value any) (Reply, error) {
	r, ok := Reply(nil).with(value)
	if _, list := value.([]any); !ok || !list || len(r) == 0 {
		return nil, fmt.Errorf("the script's reply %.200q is not a list of strings: check for a proxy that does not support scripts", fmt.Sprint(value))
	}
	return r, nil
}

func (r Reply) with(value any) (_ Reply, ok bool) {
	switch v := value.(type) {
	case []any:
		ok = true
		for i := 0; ok && i < len(v); i++ {
			r, ok = r.with(v[i])
		}
		return r, ok
	case nil:
		return append(r, ""), true
	case int64:
		return append(r, strconv.FormatInt(v, 10)), true
	case string:
		return append(r, v), true
	}
	return r, false
}

// Unknown returns the error for a reply that no script sends.
func (r Reply) Unknown() error {
	return fmt.Errorf("the script's reply %q is unknown", printable.Text(strings.Join(r, " ")))
}

// Ints parses all values after the verdict.
func (r Reply) Ints(to ...*int64) error {
	if len(r) != len(to)+1 {
		return r.Unknown()
	}
	for i, p := range to {
		n, err := strconv.ParseInt(r[i+1], 10, 64)
		if err != nil {
			return r.Unknown()
		}
		*p = n
	}
	return nil
}
