// Package secret keeps passwords of a configuration out of logs: a String prints stars
// wherever the configuration it is part of is printed, logged or encoded as text.
//
//	redis.Config{Addrs: addrs, Password: secret.String(os.Getenv("REDIS_PASSWORD"))}
//
// It is no protection against code that asks for the text: convert a String to a
// string to read it. fmt does not ask the type of an unexported field, so keep
// configurations in exported ones; nor where the verb is wrong for a value, as %w and
// %p are for a configuration, which go vet finds. Package encoding/gob encodes the text.
package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// String is a text that is not to be shown. Decoders read it as they read a string.
type String string

var (
	_ fmt.Formatter  = String("")
	_ slog.LogValuer = String("")
)

const stars = "***"

// shown tells no more of s than whether it is empty.
func (s String) shown() string {
	if s == "" {
		return ""
	}
	return stars
}

// String returns stars, or nothing where s is empty.
func (s String) String() string { return s.shown() }

// Format prints what String returns, quoted for %q and %#v, whatever the verb.
func (s String) Format(f fmt.State, verb rune) {
	if verb == 'q' || verb == 'v' && f.Flag('#') {
		fmt.Fprintf(f, "%q", s.shown())
		return
	}
	_, _ = io.WriteString(f, s.shown()) // as fmt does
}

// LogValue returns what String returns.
func (s String) LogValue() slog.Value { return slog.StringValue(s.shown()) }

// MarshalText returns what String returns, for JSON, YAML and the like: what is encoded
// cannot be decoded again.
func (s String) MarshalText() ([]byte, error) { return []byte(s.shown()), nil }
