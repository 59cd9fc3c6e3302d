package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/snowlease/snowlease/internal/dsn/mysqldsn"
	"github.com/snowlease/snowlease/internal/dsn/pgdsn"
	"github.com/snowlease/snowlease/internal/dsn/sqlitedsn"
	"github.com/snowlease/snowlease/providers/redis"
	"github.com/snowlease/snowlease/providers/secret"
)

// A target is where a store is: a Redis, or the driver and the DSN of a database.
type target struct {
	Redis  redis.Config // exported, as the others, so that fmt hides the passwords
	Driver string
	DSN    secret.String
}

// validate returns an error if the client or the driver would refuse it. It shows no
// password.
func (t target) validate() (err error) {
	switch t.Driver {
	case "":
		return t.Redis.Validate()
	case "mysql":
		_, err = mysqldsn.Parse(string(t.DSN))
	case "pgx":
		_, err = pgdsn.Parse(string(t.DSN))
	}
	if err != nil {
		return fmt.Errorf("the DSN is refused: %w", err)
	}
	return nil
}

var errNoStore = errors.New("--store is empty: give redis://host:6379, mysql://user@host/name, postgres://user@host/name or sqlite:path; if it contains a password, use " + envStore + "; or give --config FILE of an application that configures db or redis")

// parseStore parses the text of --store. Its errors contain no part of the text, which may
// hold a password.
func parseStore(text string) (target, error) {
	scheme, rest, isURL := strings.Cut(text, "://")
	switch {
	case text == "":
		return target{}, errNoStore
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
			return target{}, errors.New("--store: the text after sqlite: or file: is not a file path")
		}
		return database("sqlite", path), nil
	case strings.Contains(text, "@tcp("), strings.Contains(text, "@unix("):
		return database("mysql", text), nil
	case !isURL && (strings.Contains(text, "host=") || strings.Contains(text, "dbname=")):
		return database("pgx", text), nil
	}
	return target{}, errors.New("--store is unknown: begin it with redis://, rediss://, mysql://, postgres:// or sqlite:, or give a DSN of MySQL or PostgreSQL")
}

func database(driver, dsn string) target {
	return target{Driver: driver, DSN: secret.String(dsn)}
}

// An authority is a URL after "://", with any number of hosts. Package net/url accepts only
// one host.
type authority struct {
	user, password string
	hosts          []string
	path           string
	query          url.Values
	rawQuery       string
}

func parseAuthority(rest string) (a authority, err error) {
	host, after := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, after = rest[:i], rest[i:]
	}
	if strings.Contains(after, "@") {
		return a, errors.New(`--store: there is an "@" after the host: percent-encode the reserved characters in user and password`)
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		user, password, _ := strings.Cut(host[:i], ":")
		var err1, err2 error
		a.user, err1 = url.PathUnescape(user)
		a.password, err2 = url.PathUnescape(password)
		if err1 != nil || err2 != nil {
			return a, errors.New("--store: user or password is not percent-encoded")
		}
		host = host[i+1:]
	}
	a.hosts = strings.Split(host, ",")
	for _, h := range a.hosts {
		if !isHost(h) {
			return a, errors.New("--store: the text before the path is not host or host:port: write user:password@host:port")
		}
	}
	a.path, a.rawQuery, _ = strings.Cut(after, "?")
	a.path = strings.TrimPrefix(a.path, "/")
	if a.query, err = url.ParseQuery(a.rawQuery); err != nil {
		return a, errors.New("--store: the text after the ? is not key=value")
	}
	return a, nil
}

// isHost reports whether h is a host with an optional numeric port. It rejects a user and
// password without a host.
func isHost(h string) bool {
	if inner, ok := strings.CutPrefix(h, "["); ok && strings.HasSuffix(inner, "]") {
		_, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		return err == nil
	}
	if !strings.Contains(h, ":") {
		return true
	}
	host, port, err := net.SplitHostPort(h)
	if err != nil {
		return false
	}
	if _, err := netip.ParseAddr(host); err != nil && strings.Contains(host, ":") {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// withPort adds the default port to hosts without one.
func (a authority) withPort(port string) []string {
	var all []string
	for _, h := range a.hosts {
		if _, _, err := net.SplitHostPort(h); err != nil && h != "" {
			h = net.JoinHostPort(strings.Trim(h, "[]"), port)
		}
		if h != "" {
			all = append(all, h)
		}
	}
	return all
}

// parseRedis parses redis://user:password@host:port,host:port/db?master=name&cluster=true.
func parseRedis(scheme, rest string) (target, error) {
	a, err := parseAuthority(rest)
	if err != nil {
		return target{}, err
	}
	c := redis.Config{Username: a.user, Password: secret.String(a.password), TLS: scheme == "rediss", Addrs: a.withPort("6379")}
	if a.path != "" {
		if c.DB, err = strconv.Atoi(a.path); err != nil {
			return target{}, fmt.Errorf("--store: the database is not a number, such as the 0 in redis://host:6379/0")
		}
	}
	for key, values := range a.query {
		value := values[len(values)-1]
		switch key {
		case "master":
			c.Master = value
		case "cluster":
			if c.Cluster, err = strconv.ParseBool(value); err != nil {
				return target{}, errors.New("--store: cluster is neither true nor false")
			}
		case "sentinel_username":
			c.SentinelUsername = value
		case "sentinel_password":
			c.SentinelPassword = secret.String(value)
		default:
			return target{}, errors.New("--store: unknown Redis setting: choose master, cluster, sentinel_username, sentinel_password")
		}
	}
	return target{Redis: c}, nil
}

func mysqlDSN(rest string) (string, error) {
	a, err := parseAuthority(rest)
	if err != nil {
		return "", err
	}
	hosts := a.withPort("3306")
	if len(hosts) != 1 {
		return "", errors.New("--store: give exactly one MySQL host, the primary")
	}
	dsn := a.user
	if a.password != "" {
		dsn += ":" + a.password
	}
	dsn += "@tcp(" + hosts[0] + ")/" + a.path
	if a.rawQuery != "" {
		dsn += "?" + a.rawQuery
	}
	return dsn, nil
}
