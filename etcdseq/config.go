package etcdseq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/snowlease/snowlease/internal/dsn"
	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/providers/secret"
)

// Config configures an etcd client, for applications that have none. A zero field means its
// default.
type Config struct {
	// Endpoints are the members: host:port, or with TLS https://host:port. Required.
	Endpoints []string `yaml:"endpoints" json:"endpoints" env:"ENDPOINTS"`
	// Username and Password log in. Errors and logs never include the password. Trailing white space
	// of the password is removed. Default: none.
	Username string        `yaml:"username" json:"username" env:"USERNAME"`
	Password secret.String `yaml:"password" json:"password" env:"PASSWORD"`
	// CAFile holds the certificate authorities of the members, in PEM. Default: the host's.
	CAFile string `yaml:"ca_file" json:"ca_file" env:"CA_FILE"`
	// CertFile and KeyFile hold the client's certificate and key, in PEM. Default: none.
	CertFile string `yaml:"cert_file" json:"cert_file" env:"CERT_FILE"`
	KeyFile  string `yaml:"key_file" json:"key_file" env:"KEY_FILE"`
}

// Validate returns an error that joins all problems of c, or nil.
func (c Config) Validate() error {
	f := fault.Texts{In: "etcdseq: config."}
	f.Check(len(c.Endpoints) == 0, "endpoints is empty: set the host:port of each member")
	secure := 0
	for i, endpoint := range c.Endpoints {
		scheme, addr, ok := strings.Cut(endpoint, "://")
		if !ok {
			scheme, addr = "http", endpoint
		}
		if scheme == "https" {
			secure++
		}
		// Do not show an invalid endpoint: it may include a password.
		host, port, err := net.SplitHostPort(addr)
		u, invalid := url.Parse("//" + addr)
		f.Check(invalid != nil || err != nil || host == "" || port == "" || u.Host != addr || scheme != "http" && scheme != "https",
			"endpoints[%d] is not host:port or https://host:port: set one such as etcd-0:2379, and the login in username and password", i)
	}
	f.Check(secure != 0 && secure != len(c.Endpoints), "endpoints has %d with https:// and %d without: set all alike", secure, len(c.Endpoints)-secure)
	f.Check(secure == 0 && c.CAFile+c.CertFile+c.KeyFile != "", "ca_file, cert_file and key_file need endpoints with https://")
	f.Check((c.CertFile == "") != (c.KeyFile == ""), "cert_file and key_file belong together: set both or none")
	f.Check((c.Username == "") != (c.Password == ""), "username and password belong together: set both or none")
	control := cmp.Or(dsn.Plain(c.Username), dsn.Plain(dsn.Trim(string(c.Password))))
	f.Check(control != nil, "username or password %v", control)
	return f.Err()
}

// Open returns a client for c, which the caller must close. If a Username is set, Open logs in,
// within ctx and 5 s. Otherwise its only I/O is reading the files. The client outlives ctx. It
// leaves a member that hangs after 13 s.
func Open(ctx context.Context, c Config) (*clientv3.Client, error) {
	cfg, err := c.client()
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	cfg.Context = life
	opened := context.AfterFunc(ctx, end)
	client, err := clientv3.New(cfg)
	if !opened() && err == nil {
		err = errors.Join(context.Cause(ctx), client.Close())
	}
	if err != nil {
		end()
		return nil, fmt.Errorf("etcdseq: etcd at %s: %w: check that it runs, and username and password", strings.Join(c.Endpoints, ", "), dsn.Hide(err, strings.Join(c.Endpoints, " ")))
	}
	return client, nil
}

// client returns the client configuration for c.
func (c Config) client() (cfg clientv3.Config, err error) {
	if err = c.Validate(); err != nil {
		return cfg, err
	}
	cfg = clientv3.Config{
		Endpoints: c.Endpoints, Username: c.Username, Password: string(dsn.Trim(c.Password)),
		DialTimeout:       5 * time.Second,
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second, // gRPC takes no less than 10 s
		Logger: zap.NewNop(), // package keeper logs the errors
	}
	if strings.HasPrefix(c.Endpoints[0], "https://") {
		info := transport.TLSInfo{TrustedCAFile: c.CAFile, CertFile: c.CertFile, KeyFile: c.KeyFile}
		if cfg.TLS, err = info.ClientConfig(); err != nil {
			err = fmt.Errorf("etcdseq: config: read ca_file, cert_file and key_file: %w", dsn.File(err))
		}
	}
	return cfg, err
}
