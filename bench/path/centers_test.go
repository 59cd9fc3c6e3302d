package path_test

import (
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
	"github.com/snowlease/snowlease/snowflake"
)

// An engine is a kind of store on this machine.
type engine struct {
	name string
	dsn  func(testing.TB) string
	open func(b *testing.B, dsn string) lease.Center
}

var engines = []engine{
	{"Redis", testserver.Redis, func(b *testing.B, addr string) lease.Center {
		client := goredis.NewClient(&goredis.Options{Addr: addr})
		b.Cleanup(func() { _ = client.Close() })
		return must(redisseq.New(client))
	}},
	{"MariaDB", testserver.MariaDB, sql("mysql")},
	{"PostgreSQL", testserver.Postgres, sql("pgx")},
	{"SQLite", func(t testing.TB) string {
		return filepath.Join(t.TempDir(), "bench.db") + "?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"
	}, sql("sqlite")},
}

func sql(driver string) func(*testing.B, string) lease.Center {
	return func(b *testing.B, dsn string) lease.Center {
		c := must(dbseq.Open(driver, dsn))
		b.Cleanup(func() { _ = c.Close() })
		return c
	}
}

// borrower returns what borrows a worker id and gives it back, one verb at a time.
type borrower struct {
	center lease.Center
	req    lease.Request
	grant  lease.Grant
}

func newBorrower(b *testing.B, c lease.Center, namespace string, layout snowflake.Layout) *borrower {
	b.Helper()
	req := memcenter.NewRequest(namespace, layout)
	req.Owner, req.Holder = lease.NewOwner(), "bench"
	_ = c.Extras().Init(b.Context(), req) // or it is there
	return &borrower{center: c, req: req}
}

func (w *borrower) borrow(b *testing.B) func() error {
	return func() (err error) {
		w.req.Owner = lease.NewOwner()
		w.grant, err = w.center.Acquire(b.Context(), w.req)
		return err
	}
}

func (w *borrower) renew(b *testing.B) func() error {
	return func() (err error) { w.grant, err = w.center.Renew(b.Context(), w.grant); return err }
}

func (w *borrower) giveBack(b *testing.B) func() error {
	return func() error { return w.center.Release(b.Context(), w.grant, 0) }
}

// BenchmarkCenter is what each verb takes of a center on this machine that is
// otherwise idle, and how often it goes there and back.
func BenchmarkCenter(b *testing.B) {
	for _, e := range engines {
		b.Run(e.name, func(b *testing.B) {
			dsn := e.dsn(b)
			w := newBorrower(b, e.open(b, dsn), "bench", snowflake.Layout{})
			var borrow, renew, giveBack durations
			for b.Loop() {
				borrow.time(b, w.borrow(b))
				renew.time(b, w.renew(b))
				giveBack.time(b, w.giveBack(b))
			}
			b.ReportMetric(0, "ns/op")
			borrow.report(b, "borrow-ms")
			renew.report(b, "renew-ms")
			giveBack.report(b, "return-ms")
			if e.name == "SQLite" {
				return // a library: nobody to go to
			}
			p := newProxy(b, dsn)
			w.center = e.open(b, p.dsn)
			for range 2 { // the first connects
				b.ReportMetric(p.trips(b, w.borrow(b)), "borrow-trips")
				b.ReportMetric(p.trips(b, w.renew(b)), "renew-trips")
				b.ReportMetric(p.trips(b, w.giveBack(b)), "return-trips")
			}
		})
	}
}

// A proxy counts round trips: requests that follow a reply.
type proxy struct {
	dsn    string
	server string

	mu      sync.Mutex
	n       float64
	replied bool
}

var port = regexp.MustCompile(`(127\.0\.0\.1:|port=)(\d+)`)

// newProxy listens before the server that the DSN names.
func newProxy(b *testing.B, dsn string) *proxy {
	b.Helper()
	found := port.FindStringSubmatch(dsn)
	if found == nil {
		b.Fatalf("no port in %q", dsn)
	}
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	p := &proxy{server: "127.0.0.1:" + found[2], replied: true}
	p.dsn = port.ReplaceAllString(dsn, fmt.Sprint("${1}", l.Addr().(*net.TCPAddr).Port))
	var open sync.WaitGroup
	b.Cleanup(func() { _ = l.Close(); open.Wait() })
	open.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", p.server)
			if err != nil {
				_ = client.Close()
				continue
			}
			open.Go(func() { p.pass(server, client, false) })
			open.Go(func() { p.pass(client, server, true) })
		}
	})
	return p
}

func (p *proxy) pass(to, from net.Conn, reply bool) {
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			p.mu.Lock()
			if !reply && p.replied {
				p.n++
			}
			p.replied = reply
			p.mu.Unlock()
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) count() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

func (p *proxy) trips(b *testing.B, verb func() error) float64 {
	b.Helper()
	before := p.count()
	if err := verb(); err != nil {
		b.Fatal(err)
	}
	return p.count() - before
}
