package sqlconn

import (
	"context"
	"database/sql/driver"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/snowlease/snowlease/internal/dsn"
	"github.com/snowlease/snowlease/internal/printable"
)

// Operators and functions are called with exactly the types that pg_catalog defines. Otherwise
// PostgreSQL would prefer one that somebody else has created in the schema of the tables.
var postgres = dialect{
	name:  "postgres",
	clock: `(EXTRACT(EPOCH FROM statement_timestamp())::numeric * 1000::numeric)::bigint`,
	// A promotion changes the timeline in the names of the WAL files immediately, but in the control
	// file only later. If one backend crashes, the postmaster restarts the others without changing
	// its start time; then the end of the replayed WAL differs.
	incarnation: `((pg_control_system()).system_identifier::text || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || '/' ||` +
		` to_char(pg_postmaster_start_time() AT TIME ZONE 'UTC', 'YYYYMMDD"T"HH24MISS.US') || '/' ||` +
		` COALESCE(pg_last_wal_replay_lsn()::text, '-'))`,
	quote:     `"`,
	numbers:   `SELECT generate_series(0::bigint, :pool - 1) AS n`,
	write:     func(text string) string { return strings.ReplaceAll(text, "REPLY(", "(") },
	parameter: func(n int, name string) string { return "$" + strconv.Itoa(n) + "::" + typeOf(name) },
	returning: true,
	session:   func(dsn string, d driver.Driver) (set, setup string) { return postgresDSN(dsn, d), "" },
	place:     postgresPlace,
	examine:   (*examination).postgres,
	crashSafe: "SET LOGGED",
	// Errors of PgBouncer, and those that its mixing of sessions causes.
	hints: [][2]string{
		{"query_wait_timeout", "PgBouncer has no free connection to the server: raise default_pool_size, or give snowlease an account of its own, which gets a pool of its own"},
		{"statement pooling mode", "set pool_mode = transaction (or session) in PgBouncer"},
		{"unsupported startup parameter", "PgBouncer refuses this setting of the DSN: remove it there, and set it by ALTER ROLE"},
		{`prepared statement "`, "a pooler mixes up prepared statements: set default_query_exec_mode=exec in the DSN"},
	},
	codes: codes{
		transient: []string{"40001", "40P01", "55P03"}, // serialization failure, deadlock, lock not available
		readOnly:  []string{"25006"}, readOnlyText: "recovery is in progress",
		denied:     []string{"42501"},
		noTable:    []string{"42P01"},
		usedUp:     []string{"23505", "2200H"},
		unreadable: []string{"42883", "42501"}, // unknown function
		login:      []string{"28000", "28P01"}, // 28000: an unknown account, or one that pg_hba.conf does not admit
		noDatabase: []string{"3D000"},
	},
}

// typeOf returns the type of a parameter. Otherwise PostgreSQL infers it from the parameter's
// first use.
func typeOf(parameter string) string {
	if slices.Contains([]string{"ns", "pin", "oldpin", "newpin", "owner", "spent", "holder", "reason", "former", "shape", "seen", "server", "recorded", "incarnation", "name", "below", "beside", "table", "schema"}, parameter) {
		return "text"
	}
	return "bigint"
}

// postgresDSN returns text with a query mode that prepares no statements on the server, because a
// connection pooler (pgbouncer) would mix them up. Only pgx has this setting.
func postgresDSN(text string, d driver.Driver) string {
	const mode = "default_query_exec_mode"
	if strings.Contains(text, mode) || !strings.Contains(packageOf(d), "jackc/pgx") {
		return text
	}
	return dsn.WithSetting(text, mode+"=exec")
}

var (
	spaced       = regexp.MustCompile(`\s=|=\s`)
	postgresPair = regexp.MustCompile(`(?:^|\s)(host|port|dbname|search_path)=(\S+)`)
)

func postgresPlace(text string) string {
	if strings.Contains(text, "://") {
		if u, err := url.Parse(text); err == nil && u.Host != "" && !dsn.AtAfterHost(text) {
			return inSchema(dsn.Place(u.Host, strings.TrimPrefix(u.Path, "/")), u.Query().Get("search_path"))
		}
		return ""
	}
	if strings.ContainsAny(text, `'"\`) || spaced.MatchString(text) {
		return "" // an apparent setting could be part of a value
	}
	part := map[string]string{"port": "5432"}
	for _, m := range postgresPair.FindAllStringSubmatch(text, -1) {
		part[m[1]] = m[2]
	}
	if part["host"] == "" {
		return ""
	}
	return inSchema(dsn.Place(part["host"]+":"+part["port"], part["dbname"]), part["search_path"])
}

var schemas = regexp.MustCompile(`^[\w$,-]+$`)

// inSchema adds the schemas of a DSN to a place, unless they could be something else.
func inSchema(place, path string) string {
	if place == "" || !schemas.MatchString(path) {
		return place
	}
	return place + " schema " + path
}

func (x *examination) postgres(ctx context.Context, has map[string]string) {
	x.OK("time zone", has["TimeZone"]+"; leases use UTC")
	x.settings(has, postgresSettings)
	x.schema(ctx)
	names, commit := has["synchronous_standby_names"], has["synchronous_commit"]
	waits := ""
	if m := quorum.FindStringSubmatch(names); m != nil {
		waits = m[1]
	}
	switch {
	case names == "":
		x.replication(ctx, "standbys, none of them synchronous", "synchronous_standby_names")
	case commit == "local":
		x.loses("synchronous_commit is local, so commits wait for no standby", "synchronous_commit = on")
	case commit == "remote_write" && !x.Compares():
		x.Note("replication", "synchronous_commit is remote_write", "grants are lost if primary and standby lose power at once: set it to on")
	default:
		x.waits(ctx, waits)
	}
}

const committed = durable + "set it to on (for synchronous_commit, at least for this account: ALTER ROLE name SET synchronous_commit = on)"

var postgresSettings = []setting{
	{"primary", "pg_is_in_recovery", "true", useThePrimary},
	{"primary", "default_transaction_read_only", "on", useThePrimary},
	{"durability", "synchronous_commit", "off", committed},
	{"durability", "fsync", "off", committed},
	{"durability", "full_page_writes", "off", committed},
}

// schema notes other accounts that may create tables that this account would take for its own: in
// the schema of the tables, or in one that comes before it.
func (x *examination) schema(ctx context.Context) {
	home := Args{"schema": x.home.Load().schema}
	others, err := All(ctx, x.Conn, nil, "others", home, Column[string])
	before, err2 := All(ctx, x.Conn, nil, "schemas", home, Column[string])
	switch {
	case err != nil || err2 != nil:
		x.Unknown("schema", errors.Join(err, err2))
	case len(others) > 0:
		x.Note("schema", printable.Text(strings.Join(others, ", "))+" may create in the schema of the tables", "they can create its tables first, and operators that the application's own statements call: REVOKE CREATE ON SCHEMA public FROM PUBLIC, or from a role that is not trusted with that")
	case len(before) > 0:
		x.Note("schema", printable.Text(strings.Join(before, ", "))+" may create a schema that comes before that of the tables", "name the schema of the tables alone: ALTER ROLE name SET search_path = public")
	default:
		x.OK("schema", "only the owner of the database, superusers and this account may create in it, or put another before it")
	}
}

// quorum matches a synchronous_standby_names that has a number. Without a number, the quorum is
// 1.
var quorum = regexp.MustCompile(`(?i)^\s*(?:(?:ANY|FIRST)\s*)?(\d+)\s*\(`)
