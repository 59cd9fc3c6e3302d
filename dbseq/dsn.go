package dbseq

import (
	"database/sql/driver"
	"errors"
	"net/url"
	"reflect"
	"regexp"
	"strings"

	"github.com/snowlease/snowlease/internal/dsn/sqlitedsn"
)

// mysqlDSN returns dsn with the settings that the statements need: autocommit, UTF-8
// (the driver's default), and parameters that are interpolated, which saves a round
// trip per statement.
func mysqlDSN(dsn string) string {
	slash := strings.LastIndexByte(dsn, '/')
	if slash < 0 {
		return dsn // the driver will report the error
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

// postgresDSN returns dsn with a query mode that prepares no statements on the server,
// because a connection pooler (pgbouncer) would mix them up. Only pgx knows the
// setting.
func postgresDSN(dsn string, d driver.Driver) string {
	const mode = "default_query_exec_mode"
	if strings.Contains(dsn, mode) || !strings.Contains(packageOf(d), "jackc/pgx") {
		return dsn
	}
	switch {
	case !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://"):
		return mode + "=exec " + dsn // in front, because an empty last value would swallow it
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

// inMemory reports whether the database is in memory. A second connection would see
// another database, or none.
func inMemory(dialect Dialect, dsn string) bool {
	if dialect != SQLite {
		return false
	}
	path, query, _ := strings.Cut(strings.TrimPrefix(dsn, "file:"), "?")
	return path == "" || strings.Contains(path, ":memory:") || strings.Contains(query, "mode=memory") || strings.Contains(query, "vfs=memdb")
}

// misread returns an error if a driver would take a part of the password for something else,
// or create a file with the password in its name. It shows no part of the DSN.
func misread(d Dialect, dsn string) error {
	switch d {
	case MySQL:
		head := dsn[:strings.LastIndexByte(dsn, '/')+1]
		switch scheme, _, ok := strings.Cut(dsn, "://"); {
		case ok && !strings.Contains(scheme, ":"):
			return errors.New("dbseq: the DSN is a URL, which the driver mysql does not read: write user:password@tcp(host:3306)/database")
		case !strings.Contains(head, "@") && strings.Contains(strings.SplitN(head, "(", 2)[0], ":"):
			return errors.New(`dbseq: the DSN has no "@" after user and password: write user:password@tcp(host:3306)/database`)
		}
	case Postgres:
		if _, rest, ok := strings.Cut(dsn, "://"); ok {
			if end := strings.IndexAny(rest, "/?#"); end >= 0 && strings.Contains(rest[end:], "@") {
				return errors.New(`dbseq: the DSN has an "@" after the host: percent-encode the reserved characters of user and password`)
			}
		}
	case SQLite:
		if !sqlitedsn.IsPath(dsn) {
			return errors.New("dbseq: the DSN is not the path of a file")
		}
	}
	return nil
}

var (
	mysqlName    = regexp.MustCompile(`^(?:.*@)?(?:tcp|unix)?\(([\w.:\[\]/-]+)\)/([\w$-]*)(?:\?[^@]*)?$`)
	spaced       = regexp.MustCompile(`\s=|=\s`)
	postgresPair = regexp.MustCompile(`(?:^|\s)(host|port|dbname)=([\w./-]+)`)
)

// nameOf returns a name of the database for people, without user, password and
// parameters. It leaves out what it cannot parse with certainty.
func nameOf(d Dialect, dsn string) string {
	dialect := string(d)
	switch d {
	case MySQL:
		if m := mysqlName.FindStringSubmatch(dsn); m != nil {
			return dialect + " " + m[1] + "/" + m[2]
		}
	case Postgres:
		if strings.Contains(dsn, "://") {
			// An "@" after the host means that the host was cut at a "/", "?" or "#" in
			// the password.
			_, rest, _ := strings.Cut(dsn, "://")
			end := strings.IndexAny(rest, "/?#")
			if u, err := url.Parse(dsn); err == nil && u.Host != "" && (end < 0 || !strings.Contains(rest[end:], "@")) {
				return dialect + " " + u.Host + u.Path
			}
			return dialect
		}
		if strings.ContainsAny(dsn, `'"\`) || spaced.MatchString(dsn) {
			return dialect // an apparent setting could be part of a value
		}
		part := map[string]string{"port": "5432"}
		for _, m := range postgresPair.FindAllStringSubmatch(dsn, -1) {
			part[m[1]] = m[2]
		}
		if part["host"] != "" {
			return dialect + " " + part["host"] + ":" + part["port"] + "/" + part["dbname"]
		}
	case SQLite:
		if path, _, _ := strings.Cut(strings.TrimPrefix(dsn, "file:"), "?"); path != "" {
			return dialect + " " + path
		}
	}
	return dialect
}
