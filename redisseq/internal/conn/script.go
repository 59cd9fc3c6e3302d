package conn

import (
	_ "embed"
	"strings"
)

var (
	//go:embed server.lua
	serverLua string
	// ValuesLua reads and writes values: clock, str, damaged, num, short.
	//go:embed values.lua
	ValuesLua string
)

// Lua is the text of a script: parts that follow each other, behind server.lua, which
// tells the incarnation and the version of the server.
func Lua(parts ...string) string {
	return strings.Join(append([]string{serverLua}, parts...), "\n")
}
