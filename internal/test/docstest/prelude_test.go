package docstest

// packages are the packages that blocks use without an import.
var packages = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "signal": "os/signal", "syscall": "syscall", "log": "log", "os": "os", "time": "time", "slog": "log/slog", "http": "net/http",
	"fx": "go.uber.org/fx", "gorm": "gorm.io/gorm", "redis": "github.com/redis/go-redis/v9",
	"sqlite": "github.com/libtnb/sqlite", "dbseq": base + "/dbseq", "redisseq": base + "/redisseq",
	"idworker": base + "/idworker", "lease": base + "/lease", "snowlease": base, "snowflake": base + "/snowflake",
	"numbers": base + "/numbers", "hostseq": base + "/hostseq", "casstore": base + "/casstore", "history": base + "/numbers/history",
	"ordernumber": base + "/numbers/ordernumber", "console": base + "/console",
	"gormplugin": base + "/gormplugin", "publicid": base + "/publicid", "yaml": "go.yaml.in/yaml/v3", "providers": base + "/providers", "sqldb": base + "/providers/sqldb",
	"leasetest": base + "/lease/leasetest", "testing": "testing",
	"gormdb": base + "/dbseq/gormdb", "sql": "database/sql", "json": "encoding/json", "stdlib": "github.com/jackc/pgx/v5/stdlib", "pgxpool": "github.com/jackc/pgx/v5/pgxpool",

	// In other modules.
	"metrics": base + "/metrics", "prometheus": "github.com/prometheus/client_golang/prometheus",
	"zap": "go.uber.org/zap", "zapslog": "go.uber.org/zap/exp/zapslog",
	"etcdseq": base + "/etcdseq",
	"rest":    "github.com/zeromicro/go-zero/rest", "logx": "github.com/zeromicro/go-zero/core/logx", "message": "github.com/ThreeDotsLabs/watermill/message",
	"gdb": "github.com/gogf/gf/v2/database/gdb", "ghttp": "github.com/gogf/gf/v2/net/ghttp",
}

const base = "github.com/snowlease/snowlease"

// prelude declares the names that blocks use without declaring them.
var prelude = map[string]string{
	"ctx":        "var ctx context.Context",
	"db":         "var db *gorm.DB",
	"sqlDB":      "var sqlDB *sql.DB",
	"pool":       "var pool *pgxpool.Pool",
	"dsn":        "var dsn string",
	"client":     "var client redis.UniversalClient",
	"worker":     "var worker *idworker.IdWorker",
	"w":          "var w *idworker.IdWorker",
	"past":       "var past *history.Issuer",
	"cfg":        "var cfg idworker.Config",
	"center":     "var center lease.Center",
	"layout":     "var layout snowflake.Layout",
	"next":       "var next snowflake.Layout",
	"ids":        "var ids [100]int64",
	"id":         "var id int64",
	"old":        "var old []int64",
	"mux":        "var mux *http.ServeMux",
	"registry":   "var registry *prometheus.Registry",
	"serve":      "func serve(*snowlease.Worker) error { return nil }",
	"restConf":   "var restConf rest.RestConf",
	"routes":     "var routes []rest.Route",
	"newDB":      "func newDB() (*gorm.DB, error) { return nil, nil }",
	"newRedis":   "func newRedis() redis.UniversalClient { return nil }",
	"Order":      "type Order struct { ID int64; Total int64; CreatedAt time.Time }",
	"Handler":    "type Handler struct { ids *idworker.IdWorker }",
	"traced":     "type traced struct { lease.Center }",
	"newCenter":  "func newCenter(*testing.T) lease.Center { return nil }",
	"newHandler": "func newHandler(*idworker.IdWorker) *Handler { return nil }",
}
