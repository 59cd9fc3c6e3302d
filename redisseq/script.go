package redisseq

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/redisconn"
	"github.com/snowlease/snowlease/lease"
)

//go:embed *.lua
var files embed.FS

// A script is a Lua script of a Center.
type script struct {
	verb  string // for errors
	lua   *redis.Script
	lends bool // returns a ceiling to use, which replicas must know
}

var (
	acquire     = script{verb: "acquire", lua: load("guard.lua", "acquire.lua"), lends: true}
	renew       = script{verb: "renew", lua: load("guard.lua", "renew.lua"), lends: true}
	release     = script{verb: "release", lua: load("guard.lua", "release.lua")}
	opening     = script{verb: "init", lua: load("init.lua")}
	show        = script{verb: "slots", lua: load("slots.lua")}
	incarnation = script{verb: "read the incarnation for", lua: load("operator_incarnation.lua")}
	record      = script{verb: "read the record of", lua: load("operator_record.lua")}
	quarantine  = script{verb: "begin a quarantine of", lua: load("operator_quarantine.lua")}
	revoke      = script{verb: "take back a worker id of", lua: load("operator_revoke.lua")}
	repin       = script{verb: "change the pin of", lua: load("repin.lua")}
)

// errChanged is returned if the pin is not the one that was read before.
var errChanged = fmt.Errorf("%w: the pin changes while it is read", lease.ErrDamaged)

// A holdError says how long a grant may last, in milliseconds, by what is left of a namespace whose
// record is lost, if that is longer than the pin of the call allows for.
type holdError struct{ hold int64 }

func (e *holdError) Error() string { return fmt.Sprintf("grants may last %d ms", e.hold) }

func load(names ...string) *redis.Script {
	return redis.NewScript(redisconn.Lua(files, append([]string{"values.lua", "base.lua"}, names...)...))
}

// run runs a script and returns its reply, or the error that the reply stands for. It
// returns errors of package lease as they are, and adds verb, namespace and server to
// others. For a script without a pin, req needs only a Namespace.
func (c *Center) run(ctx context.Context, s script, req lease.Request, args ...any) (redisconn.Reply, error) {
	if err := lease.CheckNamespace(req.Namespace); err != nil {
		return nil, err
	}
	call := redisconn.Call{
		Verb: s.verb, Name: req.Namespace, Script: s.lua, Keys: c.keys(req.Namespace), Args: args, Waits: s.lends, Remedy: c.remedy(req.Namespace),
		Answer: func(r redisconn.Reply) error {
			switch r[0] {
			case "CHANGED":
				return c.wrap(s, req.Namespace, errChanged)
			case "UNKNOWN":
				return c.wrap(s, req.Namespace, lease.ErrUnknown)
			case "HOLD":
				most := &holdError{}
				return cmp.Or[error](r.Ints(&most.hold), most)
			}
			return r.Answer(req, req.Pin())
		},
		Passes: []string{"MORE"},
	}
	// A large pool is created in steps, which reply MORE: see fill in base.lua.
	const steps = lease.MaxPool/8192 + 1
	for step := range steps {
		if step == 1 {
			call.Args = append(slices.Clone(args), "more")
		}
		if r, err := c.conn.Run(ctx, call); err != nil || r[0] != "MORE" {
			return r, err
		}
	}
	return nil, c.wrap(s, req.Namespace, fmt.Errorf("%w: records vanish while they are created", lease.ErrDamaged))
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

// remedy says what to do about damaged records.
func (c *Center) remedy(namespace string) string {
	return fmt.Sprintf("give the keys %s another prefix if they are not snowlease's; if they are, delete all four: later grants lie above the lost ones",
		strings.Join(c.keys(namespace), " "))
}
