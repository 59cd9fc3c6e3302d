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

type scripts struct{ acquire, renew, release, init, slots *redis.Script }

func loadScripts() scripts {
	join := func(parts ...string) *redis.Script { return redis.NewScript(strings.Join(parts, "\n")) }
	return scripts{
		acquire: join(baseLua, guardLua, acquireLua),
		renew:   join(baseLua, guardLua, renewLua),
		release: join(baseLua, guardLua, releaseLua),
		init:    join(baseLua, initLua),
		slots:   join(baseLua, slotsLua),
	}
}
