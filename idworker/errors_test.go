package idworker_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/casstore"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
	"github.com/snowlease/snowlease/snowflake"
)

// unreadable is a store that fails.
type unreadable struct{ *memcenter.Store }

func (unreadable) Load(context.Context, string) (casstore.Record, error) {
	return casstore.Record{}, errors.New("connection refused")
}

// The error of a start names the store once, whatever the center's own error says.
func TestErrorsNameTheStoreOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	two := snowflake.Layout{WorkerBits: 1}
	mismatched := memcenter.New()
	initialize(t, mismatched, idworker.Config{Namespace: "orders", Preset: "wide"})
	for name, open := range map[string]func() (lease.Center, error){
		"SQL": func() (lease.Center, error) { return dbseq.Open("sqlite", filepath.Join(dir, "missing", "app.db")) },
		"Redis": func() (lease.Center, error) {
			client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
			t.Cleanup(func() { _ = client.Close() })
			return redisseq.New(client)
		},
		"a host": func() (lease.Center, error) {
			c, err := hostseq.New(hostseq.Config{Dir: dir}, two)
			for range 2 { // all that there are
				w, err := idworker.Open(t.Context(), idworker.Config{Namespace: "orders", Mode: idworker.ModeLocal, Layout: two, Local: hostseq.Config{Dir: dir}})
				require.NoError(t, err)
				t.Cleanup(func() { _ = w.Stop(context.Background()) })
			}
			return c, err
		},
		"a store of its own":           func() (lease.Center, error) { return casstore.New(unreadable{memcenter.NewStore()}), nil },
		"whose error does not name it": func() (lease.Center, error) { return mismatched, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := open()
			require.NoError(t, err)
			if closing := c.Extras().Close; closing != nil {
				t.Cleanup(func() { _ = closing() })
			}
			_, err = idworker.Open(t.Context(), idworker.Config{Namespace: "orders", Layout: two, Wait: 100 * time.Millisecond}, idworker.WithCenter(c))
			require.Error(t, err)
			require.Equal(t, 1, strings.Count(err.Error(), lease.Name(c)), "%s: %v", lease.Name(c), err)
			if name == "a host" {
				require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))
				require.ErrorContains(t, err, "run fewer replicas, or give them a wider range")
			}
		})
	}
}
