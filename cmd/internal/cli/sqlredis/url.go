package sqlredis

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/internal/dsn/mysqldsn"
	"github.com/snowlease/snowlease/internal/dsn/pgdsn"
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

// Validate implements target.Target.
func (p place) Validate() (err error) {
	switch p.Driver {
	case "":
		return p.Redis.Validate()
	case "mysql":
		_, err = mysqldsn.Parse(string(p.DSN))
	case "pgx":
		_, err = pgdsn.Parse(string(p.DSN))
	case "sqlite":
		if !sqlitedsn.IsPath(string(p.DSN)) {
			err = errors.New("it is not the path of a file; variables in it are not replaced")
		}
	}
	if err != nil {
		return fmt.Errorf("the DSN is refused: %w", err)
	}
	return nil
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
	a, err := target.ParseAuthority(rest)
	if err != nil {
		return place{}, err
	}
	c := redis.Config{Username: a.User, Password: secret.String(a.Password), TLS: scheme == "rediss", Addrs: a.WithPort("6379")}
	if a.Path != "" {
		if c.DB, err = strconv.Atoi(a.Path); err != nil {
			return place{}, fmt.Errorf("--store: the database is not a number, such as the 0 in redis://host:6379/0")
		}
	}
	for key, values := range a.Query {
		value := values[len(values)-1]
		switch key {
		case "master":
			c.Master = value
		case "cluster":
			if c.Cluster, err = strconv.ParseBool(value); err != nil {
				return place{}, errors.New("--store: cluster is neither true nor false")
			}
		case "sentinel_username":
			c.SentinelUsername = value
		case "sentinel_password":
			c.SentinelPassword = secret.String(value)
		case "ca_file":
			c.CAFile = value
		case "cert_file":
			c.CertFile = value
		case "key_file":
			c.KeyFile = value
		default:
			return place{}, errors.New("--store: not a Redis setting: choose master, cluster, sentinel_username, sentinel_password, ca_file, cert_file, key_file")
		}
	}
	return place{Redis: c}, nil
}

func mysqlDSN(rest string) (string, error) {
	a, err := target.ParseAuthority(rest)
	if err != nil {
		return "", err
	}
	hosts := a.WithPort("3306")
	if len(hosts) != 1 {
		return "", errors.New("--store: give exactly one MySQL host, the primary")
	}
	dsn := a.User
	if a.Password != "" {
		dsn += ":" + a.Password
	}
	dsn += "@tcp(" + hosts[0] + ")/" + a.Path
	if a.RawQuery != "" {
		dsn += "?" + a.RawQuery
	}
	return dsn, nil
}
