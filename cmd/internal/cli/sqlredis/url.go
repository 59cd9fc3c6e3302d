package sqlredis

import (
	"errors"
	"strconv"
	"strings"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/internal/dsn/sqlitedsn"
	"github.com/snowlease/snowlease/providers/redis"
	"github.com/snowlease/snowlease/providers/secret"
)

// A place is the location of a store: a Redis, or the driver and DSN of a database.
type place struct {
	Redis  redis.Config // exported, like the other fields, so that fmt hides the passwords
	Driver string
	DSN    secret.String
}

// parseStore parses the value of --store. Its errors contain no part of the value, which may
// hold a password.
func parseStore(text string) (place, error) {
	scheme, rest, isURL := strings.Cut(text, "://")
	switch {
	case isURL && (scheme == "etcd" || scheme == "etcds"):
		return place{}, errors.New("--store names an etcd: use the command for etcd, go run github.com/snowlease/snowlease/cmd/snowlease-etcd@latest")
	case isURL && (scheme == "redis" || scheme == "rediss"):
		return parseRedis(scheme, rest)
	case isURL && (scheme == "mysql" || scheme == "mariadb"):
		dsn, err := mysqlDSN(rest)
		return database("mysql", dsn), err
	case isURL && (scheme == "postgres" || scheme == "postgresql"):
		return database("pgx", text), nil
	case strings.HasPrefix(text, "sqlite:"), strings.HasPrefix(text, "file:"):
		path := strings.TrimPrefix(text, "sqlite:")
		if path != text {
			path = strings.TrimPrefix(path, "//")
		}
		if !sqlitedsn.IsPath(path) {
			return place{}, errors.New("--store: the text after sqlite: or file: is not a file path")
		}
		return database("sqlite", path), nil
	case strings.Contains(text, "@tcp("), strings.Contains(text, "@unix("):
		return database("mysql", text), nil
	case !isURL && (strings.Contains(text, "host=") || strings.Contains(text, "dbname=")):
		return database("pgx", text), nil
	}
	return place{}, errors.New("--store is unknown: give redis://, rediss://, mysql://, postgres:// or sqlite:, or a DSN of MySQL or PostgreSQL")
}

func database(driver, dsn string) place {
	return place{Driver: driver, DSN: secret.String(dsn)}
}

// parseRedis parses redis://user:password@host:port,host:port/db?master=name&cluster=true.
func parseRedis(scheme, rest string) (place, error) {
	a, err := target.ParseAuthority(rest, "6379")
	if err != nil {
		return place{}, err
	}
	c := redis.Config{Username: a.User, Password: secret.String(a.Password), TLS: scheme == "rediss", Addrs: a.Hosts}
	if a.Path != "" {
		if c.DB, err = strconv.Atoi(a.Path); err != nil {
			return place{}, errors.New("--store: the database is not a number, such as the 0 in redis://host:6379/0")
		}
	}
	cluster := "false"
	err = a.Set(map[string]*string{
		"master": &c.Master, "cluster": &cluster, "ca_file": &c.CAFile, "cert_file": &c.CertFile, "key_file": &c.KeyFile,
		"sentinel_username": &c.SentinelUsername, "sentinel_password": (*string)(&c.SentinelPassword),
	})
	if err != nil {
		return place{}, err
	}
	if c.Cluster, err = strconv.ParseBool(cluster); err != nil {
		return place{}, errors.New("--store: cluster is neither true nor false")
	}
	return place{Redis: c}, nil
}

func mysqlDSN(rest string) (string, error) {
	a, err := target.ParseAuthority(rest, "3306")
	if err != nil {
		return "", err
	}
	if len(a.Hosts) != 1 {
		return "", errors.New("--store: give exactly one MySQL host, the primary")
	}
	return a.User + ":" + a.Password + "@tcp(" + a.Hosts[0] + ")/" + a.Path + "?" + a.Query, nil
}
