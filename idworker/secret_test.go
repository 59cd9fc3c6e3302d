package idworker_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowlease/snowlease/idworker"
)

// A password at a wrong place of a client's DSN or address shows neither in the error of a
// start nor in its log.
func TestStartShowsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "hunter2Geheim"
	redisClient := redis.NewClient(&redis.Options{Addr: "redis://app:" + secret + "@127.0.0.1:1", MaxRetries: -1})
	t.Cleanup(func() { _ = redisClient.Close() })
	clients := map[string]idworker.Clients{"redis": {Redis: redisClient}}
	for _, dsn := range []string{"app:" + secret + "(127.0.0.1:1)/app", "app:" + secret + "@tcp(127.0.0.1:1)/app", "app@tcp(127.0.0.1:1)/app?password=" + secret} {
		db, err := gorm.Open(mysql.New(mysql.Config{DSN: dsn, SkipInitializeWithVersion: true}), &gorm.Config{DisableAutomaticPing: true, Logger: logger.Discard})
		require.NoError(t, err)
		pool, err := db.DB()
		require.NoError(t, err)
		t.Cleanup(func() { _ = (*sql.DB).Close(pool) })
		clients[dsn] = idworker.Clients{DB: db}
	}
	for name, c := range clients {
		var log bytes.Buffer
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := idworker.Open(ctx, idworker.Config{Namespace: "orders"}, c)
		cancel()
		require.Error(t, err, name)
		require.NotContains(t, fmt.Sprint(err, log.String()), secret)
	}
}
