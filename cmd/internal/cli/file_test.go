package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/numberstore"
)

// A file in the working folder is not read, and a file that is named is read for all that it says
// of the namespace, but not for the store.
func TestConfigOfTheApplication(t *testing.T) {
	t.Chdir(t.TempDir())
	text := "app:\n  ids: {namespace: bills, preset: wide, workers: 7-7, lease: {ttl: 1m}, store: {table_prefix: bills_}, segments: [{name: members}, {name: cards, namespace: shared}], series: [{name: dues, namespace: shared}]}\n  db: {dsn: elsewhere.db}\n"
	for _, name := range []string{"config.yaml", "app.yaml"} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	none, app := in(t), in(t, "--config=app.yaml", "--key=app.ids")
	app.exits(exitUsage, "init", "--store is empty")
	none.exits(exitUsage, "workers --namespace=bills", "--store is empty")
	t.Setenv(target.EnvStore, "sqlite:app.db")
	none.exits(exitUsage, "init", "--namespace is empty")
	none.exits(exitUsage, "init --config=app.yaml", "app.yaml: there is nothing at the key idworker")
	app.exits(exitUsage, "init --namespace=bills", "--config and --namespace are both given")
	app.exits(exitUsage, "workers --durable", "--config and --durable are both given")
	app.exits(exitUsage, "doctor --preset=wide", "--config and --preset are both given")
	app.ok("init --yes", `created namespace "bills" at sqlite app.db, tables bills_*, which is now pinned to layout={epoch=1577808000000 unit=1ms bits=41/10/0/12} pool=1024 max_ttl=1m0s skew=2s (from app.yaml)`)
	for worker, line := range map[int64]string{7: "next", 9: "next --workers=9-9"} {
		id, err := strconv.ParseInt(strings.TrimSpace(app.ok(line)), 10, 64)
		require.NoError(t, err)
		require.Equal(t, worker, id>>12&1023)
	}
	app.ok("workers", "bills")
	app.ok("quarantine --yes", "bills")
	app.ok("doctor", "app.yaml", "max_ttl=1m0s skew=2s falls_to=30s/2s") // next needs no more
	app.ok("segment create --name=members --start=501", "tables bills_*: created 501")
	app.ok("segment create --name=cards", `"shared/cards" at `)
	app.ok("segment create --name=dues. --period=none", `"shared/dues." at `)
	app.ok("retire --yes", "bills")
	for line, want := range map[string]string{"workers --namespace=bills": "nothing is on record", "segment advance --namespace=bills --yes --name=members --above=1": "the name is not in the store"} {
		none.exits(exitFailed, line, want) // without the prefix of the file
	}
	require.NoFileExists(t, "elsewhere.db")
}

// Whoever answers a question sees which store it is about, and what named that. No help shows it.
func TestQuestionsNameTheStore(t *testing.T) {
	srv := miniredis.RunT(t)
	srv.RequireAuth("s3cret")
	asks := func(from, line string) {
		t.Helper()
		printed := in(t).exits(exitNo, line, "Store: redis "+srv.Addr()+" db 0 (from "+from+")\n", " Type yes to continue: ")
		require.NotContains(t, printed, "s3cret")
	}
	config := " --config=" + writeFile(t, "idworker: {namespace: orders, store: {durable: true}}\n")
	s := newScene(t, "redis://:s3cret@"+srv.Addr())
	asks("--store", "init --store="+s.store.store+config)
	t.Setenv(target.EnvStore, s.store.store)
	in(t).ok("yes | init" + config)
	require.NotContains(t, in(t).ok("init --help"), "s3cret")
	s.store.durable = true
	g := s.lend(s.center())
	asks(target.EnvStore, "retire --namespace=orders")
	asks(target.EnvStore, "quarantine"+config)
	asks(target.EnvStore, fmt.Sprintf("release --durable --namespace=orders --worker=%d --token=%d", g.Worker, g.Token))
}

// A sequence that is above --above by the time of the answer stays there.
func TestAdvanceOfABusySeries(t *testing.T) {
	t.Parallel()
	url := sqliteURL(t)
	center, err := dbseq.Open("sqlite", strings.TrimPrefix(url, "sqlite:"))
	require.NoError(t, err)
	defer center.Close()
	store := center.Numbers().(target.Segments)
	const period int64 = 202611010000000000
	take := func(n int64) {
		_, err := store.Reserve(t.Context(), numberstore.Request{Name: "shop/bills.acme", N: n, Start: period + 1, Above: period, Max: period + 9_999_999_999, Create: true})
		require.NoError(t, err)
	}
	take(40)
	var out, errs bytes.Buffer
	stdin := &before{strings.NewReader("yes\n"), func() { take(5) }} // while somebody thinks
	code := run(t.Context(), []string{"segment", "advance", "--store=" + url, "--namespace=shop", "--name=bills.acme", "--period=2026-11-01", "--above=42"}, stdin, &out, &errs)
	require.Zero(t, code, errs.String())
	given, err := store.HighWater(t.Context(), "shop/bills.acme")
	require.NoError(t, err)
	require.EqualValues(t, period+45, given)
}

// before is an input that calls do before it is read for the first time.
type before struct {
	io.Reader
	do func()
}

func (b *before) Read(p []byte) (int, error) {
	if b.do != nil {
		b.do()
		b.do = nil
	}
	return b.Reader.Read(p)
}
