package redis

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzAddr checks that a URL is refused as an address, and that the error shows no password.
func FuzzAddr(f *testing.F) {
	const secret = "hunter2Geheim"
	for _, s := range [][2]string{{"redis://:", "@127.0.0.1:6379/0"}, {"rediss://app:", "@h:1"}, {"app:", "@h:6379"}, {"", "@[::1]:6379"}, {"unix://", "@/run/redis.sock"}, {"%zz", "@"}} {
		f.Add(s[0], s[1])
	}
	f.Add("", "://h:1")
	f.Fuzz(func(t *testing.T, before, after string) {
		for _, addr := range []string{before + secret + "@" + after, before + "://" + secret + after} {
			err := Config{Addrs: []string{addr}}.Validate()
			require.ErrorContains(t, err, "is a URL")
			require.NotContains(t, err.Error(), secret)
		}
	})
}
