package redisconn

import (
	"embed"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed prelude.lua
var prelude string

// Script returns a script: the prelude, whose first two arguments Run adds, and the named files.
func Script(files embed.FS, names ...string) *redis.Script {
	texts := []string{prelude}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err) // at program start: the file is not embedded
		}
		texts = append(texts, string(text))
	}
	return redis.NewScript(strings.Join(texts, "\n"))
}
