// Package secret keeps passwords in a configuration out of logs. A String prints as stars when
// the configuration is printed, logged or encoded as text.
//
//	redis.Config{Addrs: addrs, Password: secret.String(os.Getenv("REDIS_PASSWORD"))}
//
// Convert a String to a string to read the secret. The secret is shown in three cases:
//
//   - fmt prints it if the String, or a struct around it, is in an unexported field. Keep
//     configurations in exported fields.
//   - fmt prints it for a wrong verb, such as %w or %p for a configuration. go vet reports
//     these.
//   - Package encoding/gob encodes it.
package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// A String is a secret string. Decoders read it like a string.
type String string

var (
	_ fmt.Formatter  = String("")
	_ slog.LogValuer = String("")
)

const stars = "***"

// String returns "***", or "" if s is empty.
func (s String) String() string {
	if s == "" {
		return ""
	}
	return stars
}

// Format prints the result of String for every verb, quoted for %q and %#v.
func (s String) Format(f fmt.State, verb rune) {
	if verb == 'q' || verb == 'v' && f.Flag('#') {
		fmt.Fprintf(f, "%q", s.String())
		return
	}
	_, _ = io.WriteString(f, s.String()) // as fmt does
}

// LogValue returns a string value of the result of String.
func (s String) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns the result of String, for JSON, YAML and similar encodings. Decoding does
// not restore the secret.
func (s String) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
