package redisseq

import (
	_ "embed"
	"strings"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed base.lua
	baseLua string
	//go:embed guard.lua
	guardLua string
	//go:embed acquire.lua
	acquireLua string
	//go:embed renew.lua
	renewLua string
	//go:embed release.lua
	releaseLua string
	//go:embed init.lua
	initLua string
	//go:embed slots.lua
	slotsLua string
)

type scripts struct{ acquire, renew, release, init, slots script }

// A script lends if its reply gives a ceiling to use.
type script struct {
	*redis.Script
	lends bool
}

func join(parts ...string) script {
	return script{Script: redis.NewScript(strings.Join(parts, "\n"))}
}

func loadScripts() scripts {
	lending := func(s script) script { s.lends = true; return s }
	return scripts{
		acquire: lending(join(baseLua, guardLua, acquireLua)),
		renew:   lending(join(baseLua, guardLua, renewLua)),
		release: join(baseLua, guardLua, releaseLua),
		init:    join(baseLua, initLua),
		slots:   join(baseLua, slotsLua),
	}
}
