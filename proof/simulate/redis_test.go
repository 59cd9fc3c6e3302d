package simulate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
)

// Redis is a miniredis that runs the product's Lua, behind a real client and a pipe as
// its connection. It supports all faults. Keys expire by the bubble's clock and by
// forward steps of the center's clock.
type Redis struct {
	offset
	// Client takes a round trip for each command of a call except the first.
	Client *redis.Client
	mini   *miniredis.Miniredis
	direct *redis.Client
	lives  int
	kept   int // how many snapshots
}

// connect returns a client of a database that takes no round trips.
func (r *Redis) connect(db int) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", DB: db, Protocol: 2, DisableIdentity: true, MaxRetries: -1, ConnMaxIdleTime: -1,
		Dialer:                   func(context.Context, string, string) (net.Conn, error) { return r.mini.Dial() },
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// NewRedis returns an empty store.
func NewRedis() (Store, error) { return newRedis() }

func newRedis() (*Redis, error) {
	r := &Redis{mini: miniredis.NewMiniRedis()}
	r.mini.ClockTTL(true)
	r.direct, r.Client = r.connect(0), r.connect(0)
	r.Client.AddHook(hook(trips))
	if err := r.direct.Ping(context.Background()).Err(); err != nil {
		return nil, err
	}
	r.mini.Server().SetPreHook(func(c *server.Peer, cmd string, args ...string) bool {
		switch cmd {
		case "INFO":
			if section := strings.Join(args, " "); section == "replication" {
				c.WriteBulk(fmt.Sprintf("# Replication\r\nrole:master\r\nmaster_replid:%040x\r\n", r.lives/2))
			} else {
				c.WriteBulk(fmt.Sprintf("# Server\r\nredis_version:7.2.4\r\nrun_id:%040x\r\ntcp_port:1\r\n", (r.lives+1)/2))
			}
		case "TIME":
			now := r.Now().UnixMicro()
			c.WriteLen(2)
			c.WriteBulk(strconv.FormatInt(now/1e6, 10))
			c.WriteBulk(strconv.FormatInt(now%1e6, 10))
		default:
			return false
		}
		return true
	})
	return r, nil
}

// A hook changes how commands are carried out.
type hook func(redis.ProcessHook) redis.ProcessHook

func (hook) DialHook(next redis.DialHook) redis.DialHook            { return next }
func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return h(next) }
func (hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// trips separates commands that depend on each other by a round trip, as a network does.
func trips(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := Step(ctx, func() error { return next(inside(ctx), cmd) })
		if err != nil {
			cmd.SetErr(err)
		}
		return err
	}
}

func (*Redis) Name() string { return "redis" }

// Center returns a redisseq.Center.
func (r *Redis) Center(*Host) (lease.Center, error) { return redisseq.New(shared{r.Client}) }

// shared is a client that a center does not copy, so its hooks run.
type shared struct{ redis.UniversalClient }

func (r *Redis) Step(by time.Duration) {
	r.offset.Step(by)
	if by > 0 {
		r.mini.FastForward(by)
	}
}

func (r *Redis) Close() error {
	defer r.mini.Close()
	return errors.Join(r.Client.Close(), r.direct.Close())
}

// Reincarnate alternately changes the run_id (a restart) and the master_replid (a
// promotion, perhaps within the same process). The server then knows no scripts.
func (r *Redis) Reincarnate() error {
	r.lives++
	return r.direct.ScriptFlush(context.Background()).Err()
}

func key(what string) string { return "snowlease:{" + namespace + "}:" + what }

// Slots reads the records, at each step, so not by a connection.
func (r *Redis) Slots() (slots []Slot, err error) {
	at := func(name string) *Slot {
		w, _ := strconv.Atoi(name) // written by a script
		for len(slots) <= w {
			slots = append(slots, Slot{Mark: -1})
		}
		return &slots[w]
	}
	names, _ := r.mini.HKeys(key("mark")) // fails if there is none
	for _, name := range names {
		if name == "hold" {
			continue
		}
		if at(name).Mark, err = strconv.ParseInt(r.mini.HGet(key("mark"), name), 10, 64); err != nil {
			return nil, err
		}
	}
	names, _ = r.mini.HKeys(key("owner"))
	for _, name := range names {
		if name == "hold" {
			continue
		}
		if owner, _, _ := strings.Cut(r.mini.HGet(key("owner"), name), "|"); owner != "0" {
			at(name).Owner = owner
		}
	}
	return slots, nil
}

func (r *Redis) Lose(what Kind, worker int64) error {
	ctx, name := context.Background(), strconv.FormatInt(worker, 10)
	switch what {
	case Wipe:
		return r.direct.FlushDB(ctx).Err()
	case DropMeta:
		return r.direct.Del(ctx, key("meta"), key("sequence"), key("segment:"+namespace), key("dispenser:"+namespace)).Err()
	case DropOwners:
		return r.direct.Del(ctx, key("owner")).Err()
	case DropLease:
		return r.direct.ZRem(ctx, key("lease"), name).Err()
	default:
		return r.direct.HDel(ctx, key("mark"), name).Err()
	}
}

// Shows reports what Lose leaves: the record of the namespace, or the field hold beside the marks
// or the owners.
func (r *Redis) Shows(what Kind, _ int64) (bool, error) {
	return what != DropMeta && r.mini.HGet(key("meta"), "pin") != "" || r.mini.HGet(key("mark"), "hold") != "" ||
		what != DropOwners && r.mini.HGet(key("owner"), "hold") != "", nil
}

// Snapshot keeps all keys in another database of the server.
func (r *Redis) Snapshot() (func() error, error) {
	r.kept++
	database := r.kept
	keep := func(from *redis.Client, to int) error {
		ctx := context.Background()
		keys, err := from.Keys(ctx, "*").Result()
		for _, k := range keys {
			err = errors.Join(err, from.Copy(ctx, k, k, to, true).Err())
		}
		return err
	}
	return func() error {
		replica := r.connect(database)
		defer replica.Close()
		return errors.Join(r.direct.FlushDB(context.Background()).Err(), keep(replica, 0))
	}, keep(r.direct, database)
}
