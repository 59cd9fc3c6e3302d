package dbseq

import (
	"database/sql/driver"
	"net/url"
	"reflect"
	"regexp"
	"strings"
)

// Names of the dialects, as GORM has them. MariaDB is a mysql.
const (
	mysql    = "mysql"
	postgres = "postgres"
	sqlite   = "sqlite"
)

// mysqlDSN is dsn with what every statement here stands on: each commits by itself,
// in UTF-8, which is the driver's default, and takes one round trip.
func mysqlDSN(dsn string) string {
	slash := strings.LastIndexByte(dsn, '/')
	if slash < 0 {
		return dsn // the driver says what is wrong with it
	}
	head, query, _ := strings.Cut(dsn[slash:], "?")
	head = dsn[:slash] + head
	params := []string{"autocommit=1"}
	interpolate := true
	for _, p := range strings.Split(query, "&") {
		key, _, _ := strings.Cut(p, "=")
		switch key {
		case "", "autocommit", "charset", "collation":
			continue
		case "interpolateParams":
			interpolate = false
		}
		params = append(params, p)
	}
	if interpolate {
		params = append(params, "interpolateParams=true")
	}
	return head + "?" + strings.Join(params, "&")
}

// postgresDSN is dsn with a query mode that prepares nothing on the server, which a
// connection pooler (pgbouncer) would mix up. Only pgx knows the setting.
func postgresDSN(dsn string, d driver.Driver) string {
	const mode = "default_query_exec_mode"
	if strings.Contains(dsn, mode) || !strings.Contains(packageOf(d), "jackc/pgx") {
		return dsn
	}
	switch {
	case !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://"):
		return mode + "=exec " + dsn // in front: an empty value at the end takes what follows
	case strings.Contains(dsn, "?"):
		return dsn + "&" + mode + "=exec"
	}
	return dsn + "?" + mode + "=exec"
}

func packageOf(d driver.Driver) string {
	t := reflect.TypeOf(d)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath()
}

// inMemory: another connection would see another database, or none.
func inMemory(dialect, dsn string) bool {
	if dialect != sqlite {
		return false
	}
	path, query, _ := strings.Cut(strings.TrimPrefix(dsn, "file:"), "?")
	return path == "" || strings.Contains(path, ":memory:") || strings.Contains(query, "mode=memory") || strings.Contains(query, "vfs=memdb")
}

var (
	mysqlName    = regexp.MustCompile(`^(?:.*@)?(?:tcp|unix)?\(([\w.:\[\]/-]+)\)/([\w$-]*)(?:\?[^@]*)?$`)
	spaced       = regexp.MustCompile(`\s=|=\s`)
	postgresPair = regexp.MustCompile(`(?:^|\s)(host|port|dbname)=([\w./-]+)`)
)

// nameOf names the database for people: no user, no password, no parameter. It says
// less when it is not sure what a part of the DSN is.
func nameOf(dialect, dsn string) string {
	switch dialect {
	case mysql:
		if m := mysqlName.FindStringSubmatch(dsn); m != nil {
			return dialect + " " + m[1] + "/" + m[2]
		}
	case postgres:
		if strings.Contains(dsn, "://") {
			// An "@" behind the host: a password with a "/" or the like in it, which is
			// taken for the end of the host.
			_, rest, _ := strings.Cut(dsn, "://")
			end := strings.IndexAny(rest, "/?#")
			if u, err := url.Parse(dsn); err == nil && u.Host != "" && (end < 0 || !strings.Contains(rest[end:], "@")) {
				return dialect + " " + u.Host + u.Path
			}
			return dialect
		}
		if strings.ContainsAny(dsn, `'"\`) || spaced.MatchString(dsn) {
			return dialect // what looks like a setting could be part of a value
		}
		part := map[string]string{"port": "5432"}
		for _, m := range postgresPair.FindAllStringSubmatch(dsn, -1) {
			part[m[1]] = m[2]
		}
		if part["host"] != "" {
			return dialect + " " + part["host"] + ":" + part["port"] + "/" + part["dbname"]
		}
	case sqlite:
		if path, _, _ := strings.Cut(strings.TrimPrefix(dsn, "file:"), "?"); path != "" {
			return dialect + " " + path
		}
	}
	return dialect
}
