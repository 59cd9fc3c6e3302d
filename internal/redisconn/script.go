package redisconn

import (
	"embed"
	"strings"
)

//go:embed *.lua
var own embed.FS

// Lua returns the source of a script: server.lua, which defines server and tooOld, and the named
// files of this package or of files.
func Lua(files embed.FS, names ...string) string {
	var texts []string
	for _, name := range append([]string{"server.lua"}, names...) {
		text, err := own.ReadFile(name)
		if err != nil {
			text, err = files.ReadFile(name)
		}
		if err != nil {
			panic(err) // at program start: the file is not embedded
		}
		texts = append(texts, string(text))
	}
	return strings.Join(texts, "\n")
}
