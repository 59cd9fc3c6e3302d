package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowlease/snowlease/cmd/internal/cli"
	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// call runs the program and returns its exit code and what it printed.
func call(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Run(t.Context(), program, args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// exits runs the words of a line, and more arguments, and requires an exit code, and texts in
// what it prints.
func exits(t *testing.T, code int, line string, more []string, texts ...string) {
	t.Helper()
	got, out, errs := call(t, "yes\n", append(strings.Fields(line), more...)...)
	require.Equal(t, code, got, line+out+errs)
	for _, text := range texts {
		require.Contains(t, out+errs, text, line)
	}
}

// storeOf is the text of --store.
func storeOf(urls ...string) string {
	return "--store=etcd://" + strings.ReplaceAll(strings.Join(urls, ","), "http://", "")
}

func dial(t *testing.T, urls ...string) *clientv3.Client {
	t.Helper()
	client, err := etcdseq.Open(t.Context(), etcdseq.Config{Endpoints: urls})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

func request() lease.Request {
	req := memcenter.NewRequest("orders", snowflake.Layout{}.WithDefaults())
	req.Owner, req.Holder = lease.NewOwner(), "app@host:1"
	return req
}

// The commands are those of snowlease, with the same flags, output and exit codes.
func TestCommands(t *testing.T) {
	t.Parallel()
	url := testserver.NewEtcd(t, 1).Nodes[0].DSN()
	on := []string{storeOf(url) + "/team/ids", "--namespace=orders"}
	exits(t, 1, "workers", on, "snowlease-etcd: ", "nothing is on record")
	exits(t, 0, "init --yes", on, `created namespace "orders" at etcd at 127.0.0.1:`)
	exits(t, 3, "init --yes", on)

	c, err := etcdseq.New(dial(t, url), etcdseq.WithPrefix("team/ids/"))
	require.NoError(t, err)
	g, err := c.Acquire(t.Context(), request())
	require.NoError(t, err)
	exits(t, 0, "workers", on, "1 of 32 worker ids are lent", "app@host:1")
	exits(t, 0, "quarantine --yes --reason=restored", on, "lends only above")
	exits(t, 3, fmt.Sprint("release --yes --token=1 --worker=", g.Worker), on, `see "snowlease-etcd workers"`)
	exits(t, 0, fmt.Sprintf("release --worker=%d --token=%d", g.Worker, g.Token), on, "Take worker", "it can be lent again after")
	exits(t, 0, "retire --yes --reason=moved", on, "retired: moved")

	exits(t, 0, "release --help", nil, "  snowlease-etcd release --namespace orders", "etcd://user:password@host1:2379")
	exits(t, 0, "--version", nil, "snowlease-etcd ")
	exits(t, 2, "segment create", nil, `unknown command "segment" for "snowlease-etcd": choose `)
}

func TestParse(t *testing.T) {
	t.Parallel()
	at := func(prefix string, c etcdseq.Config) place { return place{c, prefix} }
	const files = "?ca_file=a&cert_file=b&key_file=c"
	for text, want := range map[string]place{
		"etcd://h":                       at("", etcdseq.Config{Endpoints: []string{"h:2379"}}),
		"etcd://u:p%40w@a:1,b/team/ids/": at("team/ids/", etcdseq.Config{Endpoints: []string{"a:1", "b:2379"}, Username: "u", Password: "p@w"}),
		"etcds://[::1]:1":                at("", etcdseq.Config{Endpoints: []string{"https://[::1]:1"}}),
		"etcds://h" + files:              at("", etcdseq.Config{Endpoints: []string{"https://h:2379"}, CAFile: "a", CertFile: "b", KeyFile: "c"}),
	} {
		got, err := parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", got, got, got), "p@w")
	}
	for text, want := range map[string]string{
		"redis://u:s3cret@h":      "for SQL and Redis, use the command snowlease",
		"s3cret":                  "--store is not an etcd URL",
		"etcd://user:s3cret":      "not host or host:port",
		"etcd://u:s3cret/x@h":     `there is an "@" after the host`,
		"etcd://h?s3cret=1":       "unknown setting: choose ca_file, cert_file, key_file",
		"etcd://user:s3cret%zz@h": "not percent-encoded",
	} {
		_, err := parse(text)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func TestStoreOfTheEnvironment(t *testing.T) {
	url := testserver.NewEtcd(t, 1).Nodes[0].DSN()
	_, _, errs := call(t, "", "workers", "--namespace=orders")
	require.Contains(t, errs, "--store is empty")
	t.Setenv("SNOWLEASE_STORE", strings.TrimPrefix(storeOf(url), "--store="))
	code, _, errs := call(t, "", "init", "--yes", "--namespace=orders")
	require.Zero(t, code, errs)
	code, out, errs := call(t, "", "workers", "--namespace=orders")
	require.Zero(t, code, errs)
	require.Contains(t, out, "0 of 32 worker ids are lent")
}

// No error shows a password.
func TestNoPasswordIsPrinted(t *testing.T) {
	t.Parallel()
	const secret = "s3cretWord"
	for _, store := range []string{"etcd://app:" + secret, "etcd://app:" + secret + "@127.0.0.1:1", "http://app:" + secret + "@h", secret, "etcd://h/?" + secret} {
		for _, args := range [][]string{{"workers", "--namespace=a", "--store=" + store}, {"workers", store}, {store}} {
			code, out, errs := call(t, "", args...)
			require.NotZero(t, code, args)
			require.NotContains(t, out+errs, secret, args)
		}
	}
}
