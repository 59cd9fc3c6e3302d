package path_test

import (
	"bufio"
	"debug/buildinfo"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
	"github.com/snowlease/snowlease/snowflake"
)

// programs print an id and end; argument is the store that they are told.
var programs = []struct {
	name     string
	argument func(testing.TB) string
}{
	{"hello", nil},
	{"core", nil},
	{"redis", openedRedis},
	{"mysql", testserver.MariaDB},
	{"postgres", testserver.Postgres},
	{"sqlite", func(t testing.TB) string { return filepath.Join(t.TempDir(), "bench.db") }},
	{"openredis", openedRedis},
	{"opencenter", testserver.MariaDB},
	{"openmysql", testserver.MariaDB},
	{"openpostgres", testserver.Postgres},
	{"opensqlite", func(t testing.TB) string { return filepath.Join(t.TempDir(), "bench.db") }},
	{"fxredis", openedRedis},
	{"fxmysql", testserver.MariaDB},
	{"goredis", testserver.Redis},
	{"gormmysql", testserver.MariaDB},
	{"bwmarrin", nil},
	{"sonyflake", nil},
	{"yitter", nil},
	{"yitterredis", testserver.Redis},
	{"godruoyi", nil},
	{"wuid", nil},
	{"xid", nil},
	{"uuid", nil},
	{"ulid", nil},
	{"ksuid", nil},
}

// BenchmarkProgram is the time from the start of a process to its first id, the size of
// its binary without debug information, and the modules in it except its own.
func BenchmarkProgram(b *testing.B) {
	for _, p := range programs {
		b.Run(p.name, func(b *testing.B) {
			binary := filepath.Join(b.TempDir(), p.name)
			build := exec.CommandContext(b.Context(), "go", "build", "-ldflags", "-s -w", "-o", binary, "../programs/"+p.name)
			if out, err := build.CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			var args []string
			if p.argument != nil {
				args = append(args, p.argument(b))
			}
			run(b, binary, args) // makes tables
			var first durations
			for b.Loop() {
				first = append(first, run(b, binary, args))
			}
			b.ReportMetric(0, "ns/op")
			first.report(b, "first-id-ms")
			b.ReportMetric(float64(must(os.Stat(binary)).Size())/(1<<20), "MiB")
			b.ReportMetric(float64(len(must(buildinfo.ReadFile(binary)).Deps)), "modules")
		})
	}
}

// openedRedis is a Redis whose records show that the namespace is new.
func openedRedis(t testing.TB) string {
	addr := testserver.Redis(t)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	defer client.Close()
	req := memcenter.NewRequest("bench", snowflake.Layout{})
	req.Owner = lease.NewOwner()
	if err := must(redisseq.New(client)).Extras().Init(t.Context(), req); err != nil && !errors.Is(err, lease.ErrExists) {
		t.Fatal(err)
	}
	return addr
}

// run runs a program to its end and returns how long its first line took.
func run(b *testing.B, binary string, args []string) (first time.Duration) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), binary, args...)
	cmd.Stderr = os.Stderr
	out := must(cmd.StdoutPipe())
	start := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	first = time.Since(start)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		b.Fatalf("%v: %s", err, line)
	}
	return first
}
