package redisseq

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq/internal/conn"
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
	//go:embed operator_incarnation.lua
	incarnationLua string
	//go:embed operator_record.lua
	recordLua string
	//go:embed operator_quarantine.lua
	quarantineLua string
	//go:embed operator_revoke.lua
	revokeLua string
	//go:embed operator_retire.lua
	retireLua string
	//go:embed operator_mend.lua
	mendLua string
)

// A script does what verb says.
type script struct {
	verb  string
	lua   *redis.Script
	lends bool // its reply gives a ceiling to use
}

var (
	acquire     = script{verb: "acquire", lua: load(guardLua, acquireLua), lends: true}
	renew       = script{verb: "renew", lua: load(guardLua, renewLua), lends: true}
	release     = script{verb: "release", lua: load(guardLua, releaseLua)}
	opening     = script{verb: "init", lua: load(initLua)}
	show        = script{verb: "slots", lua: load(slotsLua)}
	incarnation = script{verb: "read the incarnation for", lua: load(incarnationLua)}
	record      = script{verb: "read the record of", lua: load(recordLua)}
	quarantine  = script{verb: "begin a quarantine of", lua: load(quarantineLua)}
	revoke      = script{verb: "take back a worker id of", lua: load(revokeLua)}
	retire      = script{verb: "retire", lua: load(retireLua)}
	mend        = script{verb: "mend the times of", lua: load(mendLua)}
)

// errChanged is returned where a pin is not the one that a verb has read before.
var errChanged = fmt.Errorf("%w: the pin changes while it is read", ErrDamaged)

func load(parts ...string) *redis.Script {
	return redis.NewScript(conn.Lua(append([]string{conn.ValuesLua, baseLua}, parts...)...))
}

// run runs a script and returns its reply if that is OK, else the error it
// stands for: the answers of package lease as they are, others with verb, namespace and
// server. req may have no more than a Namespace for a script without a pin.
func (c *Center) run(ctx context.Context, s script, req lease.Request, args ...any) (conn.Reply, error) {
	if err := lease.CheckNamespace(req.Namespace); err != nil {
		return nil, err
	}
	call := conn.Call{
		Verb: s.verb, Name: req.Namespace, Script: s.lua, Keys: c.keys(req.Namespace), Args: args, Waits: s.lends, Remedy: c.remedy(req.Namespace),
		Answer: func(r conn.Reply) (bool, error) {
			switch r[0] {
			case "MORE":
				return true, nil
			case "CHANGED":
				return true, c.wrap(s, req.Namespace, errChanged)
			case "UNKNOWN":
				return true, c.wrap(s, req.Namespace, lease.ErrUnknown)
			}
			err := r.Answer(req, req.Pin())
			return err != nil, err
		},
	}
	// Records of a pool of many thousands are made in steps: MORE. See fill in base.lua.
	const steps = lease.MaxPool/8192 + 1
	for range steps {
		if r, err := c.conn.Run(ctx, call); err != nil || r[0] != "MORE" {
			return r, err
		}
	}
	return nil, c.wrap(s, req.Namespace, fmt.Errorf("%w: they get lost while they are made", ErrDamaged))
}

func (c *Center) wrap(s script, namespace string, err error) error {
	return c.conn.Wrap(s.verb, namespace, err)
}

func (c *Center) keys(namespace string) []string {
	var keys []string
	for _, what := range []string{"lease", "mark", "owner", "meta"} {
		keys = append(keys, c.conn.Key(namespace, what))
	}
	return keys
}

// remedy is the way out where records are damaged.
func (c *Center) remedy(namespace string) string {
	return fmt.Sprintf("give the keys %s another prefix if they are not snowlease's; if they are, delete all four: ids go on above what was lent",
		strings.Join(c.keys(namespace), " "))
}
