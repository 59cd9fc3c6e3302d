package redis

import (
	"cmp"
	"reflect"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/dsn"
	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/providers/secret"
)

// Config configures a Redis client. A zero field means its default.
//
// Three fields decide the kind of client. If Master is set, Addrs are Sentinels. Otherwise,
// Cluster or several Addrs select a cluster, and a single address selects a single server.
type Config struct {
	// Addrs are host:port addresses of the server, of nodes of the cluster, or of
	// Sentinels. Required.
	Addrs []string `yaml:"addrs" json:"addrs" env:"ADDRS"`
	// Master is the name of the master that the Sentinels watch. Default: no Sentinel.
	Master string `yaml:"master" json:"master" env:"MASTER"`
	// Cluster is set if a single address is a node of a cluster. Default: false.
	Cluster bool `yaml:"cluster" json:"cluster" env:"CLUSTER"`
	// DB is the number of the database. It must be 0 for a cluster. Default: 0.
	DB int `yaml:"db" json:"db" env:"DB"`
	// Username and Password log in to the server. Errors and logs never include the password.
	// Trailing white space of the password is removed.
	Username string        `yaml:"username" json:"username" env:"USERNAME"`
	Password secret.String `yaml:"password" json:"password" env:"PASSWORD"`
	// SentinelUsername and SentinelPassword log in to the Sentinels.
	SentinelUsername string        `yaml:"sentinel_username" json:"sentinel_username" env:"SENTINEL_USERNAME"`
	SentinelPassword secret.String `yaml:"sentinel_password" json:"sentinel_password" env:"SENTINEL_PASSWORD"`
	// TLS encrypts connections and verifies servers with the host's certificate
	// authorities. Default: false.
	TLS bool `yaml:"tls" json:"tls" env:"TLS"`
	// CAFile holds the certificate authorities of the servers, in PEM, in place of the host's.
	// CertFile and KeyFile hold the client's certificate and key, in PEM. All three require TLS.
	// Default: none.
	CAFile   string `yaml:"ca_file" json:"ca_file" env:"CA_FILE"`
	CertFile string `yaml:"cert_file" json:"cert_file" env:"CERT_FILE"`
	KeyFile  string `yaml:"key_file" json:"key_file" env:"KEY_FILE"`
	// PoolSize is the maximum number of connections to each node. Default: go-redis's default, 10
	// per CPU.
	PoolSize int `yaml:"pool_size" json:"pool_size" env:"POOL_SIZE"`
	// ConnectTimeout bounds each attempt to connect, and the ping at the start.
	// Default: 5s.
	ConnectTimeout time.Duration `yaml:"connect_timeout" json:"connect_timeout" env:"CONNECT_TIMEOUT"`
	// Timeout bounds the write of a command, and separately the read of its reply. Keep it well
	// below the interval of renewals, which is 10 s by default. Default: 2s.
	Timeout time.Duration `yaml:"timeout" json:"timeout" env:"TIMEOUT"`
}

// IsZero reports whether no field is set.
func (c Config) IsZero() bool {
	if len(c.Addrs) == 0 {
		c.Addrs = nil // an empty list in a file
	}
	return reflect.ValueOf(c).IsZero()
}

// withDefaults returns c with defaults for its zero fields, except Addrs, which has none,
// and PoolSize, whose default go-redis sets.
func (c Config) withDefaults() Config {
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 5*time.Second)
	c.Timeout = cmp.Or(c.Timeout, 2*time.Second)
	c.Password, c.SentinelPassword = dsn.Trim(c.Password), dsn.Trim(c.SentinelPassword)
	return c
}

// Validate returns an error that joins all problems of c, or nil. It applies defaults first.
func (c Config) Validate() error {
	c = c.withDefaults()
	f := fault.Texts{In: "providers: redis."}
	f.Check(len(c.Addrs) == 0, "addrs is empty: set the host:port of the server, of the nodes of the cluster or of the Sentinels")
	for i, addr := range c.Addrs {
		// Do not show an invalid address: it may include a password.
		isURL := strings.Contains(addr, "@") || strings.Contains(addr, "://")
		f.Check(isURL, "addrs[%d] is a URL: set host:port, and set username, password, db and tls in their own fields", i)
		f.Check(!isURL && (strings.HasPrefix(addr, "/") || dsn.Plain(addr) != nil || dsn.Host(addr) == ""), "addrs[%d] is not host:port: set one such as 127.0.0.1:6379", i)
	}
	for name, text := range map[string]string{
		"master": c.Master, "username": c.Username, "password": string(c.Password),
		"sentinel_username": c.SentinelUsername, "sentinel_password": string(c.SentinelPassword),
	} {
		err := dsn.Plain(text)
		f.Check(err != nil, "%s %v", name, err)
	}
	f.Check(!c.TLS && c.CAFile+c.CertFile+c.KeyFile != "", "ca_file, cert_file and key_file need tls: set tls to true")
	f.Check((c.CertFile == "") != (c.KeyFile == ""), "cert_file and key_file belong together: set both or none")
	f.Check(c.Master != "" && c.Cluster, "master %q and cluster exclude each other: set master for Sentinel, cluster for a cluster", c.Master)
	f.Check(c.DB < 0, "db %d is negative: set 0 or above", c.DB)
	f.Check(c.DB > 0 && c.isCluster(), "db %d does not exist in a cluster: set 0", c.DB)
	f.Check(c.Master == "" && (c.SentinelUsername != "" || c.SentinelPassword != ""),
		"sentinel_username and sentinel_password are set without master: set master to the name that the Sentinels watch")
	f.Check(c.PoolSize < 0, "pool_size %d is negative: set the number of connections to a node", c.PoolSize)
	f.Check(c.ConnectTimeout < time.Millisecond, "connect_timeout %v is below 1ms: set a duration with a unit, such as 5s", c.ConnectTimeout)
	f.Check(c.Timeout < time.Millisecond, "timeout %v is below 1ms: set a duration with a unit, such as 2s", c.Timeout)
	return f.Err()
}

func (c Config) kind() string {
	switch {
	case c.Master != "":
		return "redis sentinel"
	case c.isCluster():
		return "redis cluster"
	}
	return "redis"
}

func (c Config) isCluster() bool { return c.Master == "" && (c.Cluster || len(c.Addrs) > 1) }
