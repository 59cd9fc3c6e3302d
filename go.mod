module github.com/snowlease/snowlease

go 1.25.0

require (
	github.com/alicebob/miniredis/v2 v2.40.0 // tests and examples: a Redis in the process
	github.com/caarlos0/env/v11 v11.4.1 // examples/fxapp: configuration from the environment
	github.com/go-sql-driver/mysql v1.10.1 // DSNs; providers and the command: the driver
	github.com/jackc/pgx/v5 v5.13.0 // DSNs; providers and the command: the driver
	github.com/libtnb/sqlite v1.2.2 // providers: GORM on SQLite without cgo
	github.com/redis/go-redis/v9 v9.22.0 // redisseq and small numbers in Redis
	github.com/robfig/cron/v3 v3.0.1 // idworker: lease.renew
	github.com/spf13/cobra v1.10.2 // the command
	github.com/stretchr/testify v1.12.1 // tests
	go.uber.org/fx v1.24.0 // idworker and providers: modules
	go.uber.org/goleak v1.3.0 // tests
	go.yaml.in/yaml/v3 v3.0.6 // the command and examples: configuration from a file
	gorm.io/driver/mysql v1.6.0 // providers/mysql
	gorm.io/driver/postgres v1.6.3 // providers/postgres
	gorm.io/gorm v1.31.2 // gormplugin, dbseq/gormdb, idworker
	modernc.org/sqlite v1.59.0 // the command and tests: SQLite without cgo
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/jinzhu/inflection v1.0.0 // indirect
	github.com/jinzhu/now v1.1.5 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/ncruces/go-strftime v1.0.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	go.uber.org/atomic v1.11.0 // indirect
	go.uber.org/dig v1.19.0 // indirect
	go.uber.org/multierr v1.10.0 // indirect
	go.uber.org/zap v1.26.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.41.0 // indirect
	modernc.org/libc v1.75.7 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)
