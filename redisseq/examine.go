package redisseq

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/bounded"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/findings"
	"github.com/snowlease/snowlease/internal/redisconn"
	"github.com/snowlease/snowlease/lease"
)

// examine checks the server that has the keys of a namespace and its settings.
func (c center) examine(ctx context.Context, namespace string) ([]lease.Finding, error) {
	if err := lease.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	keys := store{c.conn}.keys(namespace)
	node, err := c.conn.Node(ctx, keys[0])
	x := examination{conn: c.conn, node: node}
	if err != nil {
		x.Unknown("cluster", err)
		return x.List, nil
	}
	before := time.Now()
	if now, err := node.Time(ctx).Result(); err != nil {
		x.Fault("clock", err.Error(), "grant the user the command TIME")
	} else {
		x.Clock(now, before, time.Now())
	}
	x.encryption()
	x.server(ctx)
	if x.info["cluster_enabled"] == "1" && !c.conn.Cluster() {
		x.Fault("cluster", "the server is a node of a cluster, but the client is for a single server", "set ?cluster=true in the address, and cluster: true in the application's configuration")
	}
	x.rights(ctx, keys)
	if x.info != nil {
		x.memory()
		x.persistence(ctx)
		x.replication()
	}
	return x.List, nil
}

// An examination is one call of examine.
type examination struct {
	findings.List
	conn *redisconn.Conn
	node redis.UniversalClient
	info map[string]string // fields of INFO; nil if INFO is denied
}

// encryption checks the client's TLS options.
func (x *examination) encryption() {
	client, ok := x.node.(*redis.Client)
	if !ok {
		return
	}
	cipher, opts := "", client.Options()
	if opts.TLSConfig != nil {
		cipher = "TLS"
	}
	host, _, err := net.SplitHostPort(opts.Addr)
	switch {
	case opts.Network == "unix":
		host = "localhost"
	case err != nil: // a client of Sentinels
		host = "this host"
	}
	x.Encryption(cipher, host)
}

// server reads INFO and checks the server's version.
func (x *examination) server(ctx context.Context) {
	text, err := x.node.Info(ctx).Result()
	if err != nil {
		tell := x.Note
		if x.conn.Durable { // without the comparison, only persistence keeps ids unique
			tell = x.Fault
		}
		tell("info", err.Error(), "grant the user the command INFO (ACL SETUSER name +info): version, memory, persistence and replication were not checked")
		return
	}
	x.info = map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			x.info[name] = value
		}
	}
	var major, minor int
	_, err = fmt.Sscanf(x.info["redis_version"], "%d.%d", &major, &minor)
	seen := "Redis " + x.info["redis_version"]
	if valkey := x.info["valkey_version"]; valkey != "" {
		seen = "Valkey " + valkey + ", compatible with " + seen
	}
	x.Judge(err == nil && (major < 6 || major == 6 && minor < 2), "version", seen, "Redis 6.2 or later is needed")
}

// userRights are the rights of the user in docs/engines.md.
const userRights = "+eval +evalsha +time +info +ping +persist +exists +hget +hmget +hset +hdel +hlen +zadd +zcard +zscore +zmscore +zrangebyscore"

var tryRights = redisconn.Script(files, "base.lua", "rights.lua")

func (x *examination) rights(ctx context.Context, keys []string) {
	base := strings.TrimSuffix(keys[0], "lease")
	err := tryRights.Run(ctx, x.node, keys, false, true).Err()
	switch {
	case err == nil:
		x.OK("rights", "scripts may read and write "+base+"*")
	case strings.Contains(err.Error(), "READONLY"):
		x.Fault("rights", "the server accepts no writes", "connect to the master: by Sentinel (?master=name), or by the address of the master")
	case strings.Contains(err.Error(), "MISCONF") || strings.Contains(err.Error(), "NOREPLICAS") || strings.Contains(err.Error(), "OOM"):
		x.Fault("rights", err.Error(), "the server accepts no writes: fix what its error says")
	default:
		x.Fault("rights", err.Error(), "grant the user these commands on these keys: ACL SETUSER name ~"+base+"* "+userRights)
	}
}

// setting returns a setting from CONFIG GET, or false if that is denied.
func (x *examination) setting(ctx context.Context, name string) (string, bool) {
	all, err := x.node.ConfigGet(ctx, name).Result()
	value, ok := all[name]
	return value, err == nil && ok
}

func (x *examination) memory() {
	policy := x.info["maxmemory_policy"]
	evicts, bounded := strings.HasPrefix(policy, "allkeys-"), x.info["maxmemory"] != "0"
	if evicts && !bounded {
		policy += ", without maxmemory"
	}
	x.Table("eviction", policy,
		findings.Fault(evicts && bounded, "Redis may evict the records of leases: set maxmemory-policy noeviction, or a volatile- policy (these keys have no TTL)"),
		findings.Note(evicts, "if maxmemory is set, Redis evicts the records of leases: set maxmemory-policy noeviction"))
}

func (x *examination) persistence(ctx context.Context) {
	aof := x.info["aof_enabled"] == "1"
	save, knowsSave := x.setting(ctx, "save")
	fsync, _ := x.setting(ctx, "appendfsync")
	late, _ := x.setting(ctx, "no-appendfsync-on-rewrite")
	seen := "append-only file off"
	if aof {
		seen = "append-only file on, appendfsync " + cmp.Or(fsync, "unknown")
	}
	if aof && late == "yes" {
		seen += ", no-appendfsync-on-rewrite yes"
	}
	if knowsSave {
		seen += fmt.Sprintf(", save %q", save)
	}
	durable := x.conn.Durable // an unknown setting promises nothing
	x.Table("persistence", seen,
		findings.Note(durable && aof && fsync == "", "durable: true requires appendfsync always and no-appendfsync-on-rewrite no, which were not checked: run the doctor with an account of an administrator, not that of the service: +config|get shows passwords of the server"),
		findings.Fault(durable && (!aof || fsync != "always" || late != "no"), "durable: true requires that no acknowledged write is lost: set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no; or set durable: false"),
		findings.Note(!aof && knowsSave && save == "", "each restart forgets all leases, on the replicas too: ids stay unique, and carry times up to max_ttl ahead for a while; appendonly yes keeps the leases"),
		findings.Note(!aof, "a crash loses the grants since the last save; a quarantine then keeps ids unique. appendonly yes loses fewer grants, and the quarantine is as long"))
}

func (x *examination) replication() {
	replicas, _ := strconv.Atoi(x.info["connected_slaves"])
	seen, waits := fmt.Sprintf("%d replicas, wait_replicas %d", replicas, x.conn.Replicas), x.conn.Replicas
	switch {
	case x.info["role"] != "master":
		seen = "the server is a replica of " + x.info["master_host"] + ":" + x.info["master_port"]
	case replicas == 0 && waits == 0:
		seen = "no replicas"
	}
	x.Table("replication", seen,
		findings.Fault(x.info["role"] != "master", "connect to the master: by Sentinel (?master=name), or by the address of the master"),
		findings.Fault(replicas < waits, "nothing is lent until that many replicas answer: start them, or lower wait_replicas"),
		findings.Fault(replicas > 0 && x.conn.Durable, "replication is asynchronous, so a failover can lose acknowledged grants, which durable: true does not detect: set durable: false"),
		findings.Note(waits < replicas, fmt.Sprintf("in a split brain, two masters could lend the same worker id: wait_replicas: %d narrows that to a master chosen from replicas that did not acknowledge", replicas)))
}
