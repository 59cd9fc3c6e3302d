package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// redis looks at the server that has the namespace's keys.
func (d *doctor) redis(ctx context.Context, o *opened) {
	key := "snowlease"
	if d.store.prefix != "" {
		key = d.store.prefix
	}
	key += ":{" + d.name() + "}:"
	node := o.redis
	if cluster, ok := o.redis.(*goredis.ClusterClient); ok {
		master, err := cluster.MasterForKey(ctx, key)
		if err != nil {
			d.unknown("cluster", err)
			return
		}
		node = master
	}
	before := time.Now()
	if now, err := node.Time(ctx).Result(); err != nil {
		d.fault("clock", err.Error(), "grant the user the command TIME")
	} else {
		d.clock(now, before, time.Now())
	}
	info := d.redisInfo(ctx, node)
	if info["cluster_enabled"] == "1" && o.redis == node {
		d.fault("cluster", "the server is a node of a cluster, the client is for one server", "say ?cluster=true in the address, and cluster: true in the application's configuration")
	}
	d.redisRights(ctx, node, key)
	d.redisMemory(ctx, node, info)
	d.redisPersistence(ctx, node, info)
	d.redisReplication(info)
}

// redisInfo returns what INFO says; nothing where it may not be asked, which the check
// of the incarnation names.
func (d *doctor) redisInfo(ctx context.Context, node goredis.UniversalClient) map[string]string {
	text, err := node.Info(ctx).Result()
	if err != nil {
		d.note("info", err.Error(), "grant the user the command INFO (ACL SETUSER name +info): version, memory, persistence and replication could not be looked at")
		return nil
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	var major, minor int
	_, err = fmt.Sscanf(info["redis_version"], "%d.%d", &major, &minor)
	d.judge(err == nil && (major < 6 || major == 6 && minor < 2), "version", info["redis_version"], "Redis 6.2 or later is needed")
	return info
}

// userRights are those of the user in docs/engines.md.
const userRights = "+eval +evalsha +time +info +ping +persist +exists +type +hget +hmget +hset +hdel +hlen +zadd +zcard +zscore +zmscore +zrangebyscore"

// rights runs, in one script, the kinds of commands that leases need: none changes
// anything.
const rights = `
local failed
local function try(...)
  local reply = redis.pcall(...)
  if not failed and type(reply) == 'table' and reply.err then failed = (...) .. ': ' .. reply.err end
end
try('TIME')
try('EXISTS', unpack(KEYS))
try('TYPE', KEYS[4])
for i = 1, 4 do try('PERSIST', KEYS[i]) end
try('ZADD', KEYS[1], 'XX', 0, 'snowlease-doctor')
try('ZMSCORE', KEYS[1], 'snowlease-doctor')
try('ZRANGEBYSCORE', KEYS[1], 1, 0)
try('ZSCORE', KEYS[1], 'snowlease-doctor')
try('ZCARD', KEYS[1])
for i = 2, 4 do
  try('HGET', KEYS[i], 'snowlease-doctor')
  try('HMGET', KEYS[i], 'snowlease-doctor')
  try('HLEN', KEYS[i])
  try('HDEL', KEYS[i], 'snowlease-doctor')
end
return failed or 'OK'`

func (d *doctor) redisRights(ctx context.Context, node goredis.UniversalClient, key string) {
	keys := []string{key + "lease", key + "mark", key + "owner", key + "meta"}
	reply, err := goredis.NewScript(rights).Run(ctx, node, keys).Text()
	if err == nil && reply != "OK" {
		err = errors.New(reply)
	}
	switch {
	case err == nil:
		d.ok("rights", "scripts may read and write "+key+"*")
	case strings.Contains(err.Error(), "READONLY"):
		d.fault("rights", "the server takes no writes", "connect to the master: by Sentinel (?master=name), or by the address of the master")
	case strings.Contains(err.Error(), "MISCONF") || strings.Contains(err.Error(), "NOREPLICAS") || strings.Contains(err.Error(), "OOM"):
		d.fault("rights", err.Error(), "the server takes no writes as it is: put right what it says")
	default:
		d.fault("rights", err.Error(), "grant the user these commands on these keys: ACL SETUSER name ~"+strings.SplitN(key, "{", 2)[0]+"* "+userRights)
	}
}

// setting returns one of CONFIG GET, or what INFO says, or false.
func (d *doctor) setting(ctx context.Context, node goredis.UniversalClient, name string) (string, bool) {
	all, err := node.ConfigGet(ctx, name).Result()
	value, ok := all[name]
	return value, err == nil && ok
}

func (d *doctor) redisMemory(ctx context.Context, node goredis.UniversalClient, info map[string]string) {
	policy, known := info["maxmemory_policy"], info != nil
	if !known {
		policy, known = d.setting(ctx, node, "maxmemory-policy")
	}
	switch bounded := info["maxmemory"] != "0"; {
	case !known:
	case strings.HasPrefix(policy, "allkeys-") && bounded:
		d.fault("eviction", policy, "Redis may evict the records of leases: set maxmemory-policy noeviction, or a volatile- policy (these keys have no TTL)")
	case strings.HasPrefix(policy, "allkeys-"):
		d.note("eviction", policy+", without maxmemory", "with a maxmemory Redis would evict the records of leases: set maxmemory-policy noeviction")
	default:
		d.ok("eviction", policy)
	}
}

func (d *doctor) redisPersistence(ctx context.Context, node goredis.UniversalClient, info map[string]string) {
	if info == nil {
		return
	}
	aof := info["aof_enabled"] == "1"
	save, knowsSave := d.setting(ctx, node, "save")
	fsync, knowsFsync := d.setting(ctx, node, "appendfsync")
	seen := "append-only file off"
	if aof {
		seen = "append-only file on, appendfsync " + fsync
	}
	if knowsSave {
		seen += fmt.Sprintf(", save %q", save)
	}
	switch {
	case !d.compares() && (!aof || knowsFsync && fsync != "always"):
		d.fault("persistence", seen, "quarantine: never promises that no acknowledged write is lost: set appendonly yes and appendfsync always, or quarantine: on-change")
	case !aof && knowsSave && save == "" && info["connected_slaves"] != "0":
		d.fault("persistence", seen, "a restart of the master empties its replicas as well: set appendonly yes, or save")
	case !aof && knowsSave && save == "":
		d.fault("persistence", seen, "each restart forgets all leases: ids stay unique, and carry times up to max_ttl ahead for a while; set appendonly yes")
	case !aof:
		d.note("persistence", seen, "a crash forgets what was lent since the last save, and the quarantine that follows keeps ids unique; appendonly yes shortens nothing of it but loses less")
	default:
		d.ok("persistence", seen)
	}
}

func (d *doctor) redisReplication(info map[string]string) {
	if info == nil {
		return
	}
	replicas := info["connected_slaves"]
	switch {
	case info["role"] != "master":
		d.fault("replication", "the server is a replica of "+info["master_host"]+":"+info["master_port"], "connect to the master: by Sentinel (?master=name), or by the address of the master")
	case replicas == "0" && d.waits > 0:
		d.fault("replication", fmt.Sprintf("no replica is connected, and wait_replicas is %d", d.waits), "nothing is lent until as many replicas answer: start them, or lower wait_replicas")
	case replicas == "0":
		d.ok("replication", "no replicas")
	case !d.compares():
		d.fault("replication", replicas+" replicas", "quarantine: never with replicas that are written to later: a failover loses acknowledged grants unseen; set quarantine: on-change")
	case d.waits == 0:
		d.note("replication", replicas+" replicas, wait_replicas 0", "two masters at once, a split brain, could lend the same worker id: wait_replicas: "+replicas+" keeps them from it")
	default:
		d.ok("replication", fmt.Sprintf("%s replicas, wait_replicas %d", replicas, d.waits))
	}
}
