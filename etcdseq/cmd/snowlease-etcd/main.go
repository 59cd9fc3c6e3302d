// Command snowlease-etcd maintains the worker ids of a service on etcd, as the command
// snowlease does on SQL and Redis. It takes the address and the rights from the environment,
// as etcdctl does: ETCDCTL_ENDPOINTS, ETCDCTL_USER, ETCDCTL_CACERT, ETCDCTL_CERT, ETCDCTL_KEY.
//
//	snowlease-etcd -namespace orders show                      the record and the worker ids
//	snowlease-etcd -namespace orders quarantine "restored"     after a restore from a snapshot
//	snowlease-etcd -namespace orders release WORKER TOKEN      takes a worker id from its holder
//	snowlease-etcd -namespace orders mend                      lowers times that are too late
//	snowlease-etcd -namespace orders retire REASON             ends the namespace for good
//
// Package lease documents what these do: see lease.Operator.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/lease"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "snowlease-etcd:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, env func(string) string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("snowlease-etcd", flag.ContinueOnError)
	namespace := flags.String("namespace", "", "the namespace; required")
	prefix := flags.String("prefix", etcdseq.DefaultPrefix, "what the keys begin with")
	timeout := flags.Duration("timeout", 10*time.Second, "how long to try")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "Usage: snowlease-etcd -namespace NAME show | quarantine REASON | release WORKER TOKEN | mend | retire REASON")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := lease.CheckNamespace(*namespace); err != nil {
		return err
	}
	cfg, err := config(env)
	if err != nil {
		return err
	}
	client, err := clientv3.New(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	center, err := etcdseq.New(client, etcdseq.WithPrefix(*prefix))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	op := center.Extras().Operator
	switch command := strings.Join(append(flags.Args(), ""), " "); {
	case command == "show ":
	case flags.Arg(0) == "quarantine" && flags.NArg() == 2:
		_, err = op.Quarantine(ctx, *namespace, flags.Arg(1))
	case flags.Arg(0) == "retire" && flags.NArg() == 2:
		err = op.Retire(ctx, *namespace, flags.Arg(1))
	case command == "mend ":
		// The center goes by the clock of this host, so only another one shows that it is off.
		var clock time.Time
		if clock, err = memberClock(ctx, cfg); err == nil {
			err = op.Mend(ctx, *namespace, clock.UnixMilli())
		}
	case flags.Arg(0) == "release" && flags.NArg() == 3:
		worker, err1 := strconv.ParseInt(flags.Arg(1), 10, 64)
		token, err2 := strconv.ParseInt(flags.Arg(2), 10, 64)
		if err = errors.Join(err1, err2); err == nil {
			err = op.Revoke(ctx, *namespace, worker, token)
		}
	default:
		flags.Usage()
		return fmt.Errorf("%q is no command", strings.TrimSpace(command))
	}
	if err != nil {
		return err
	}
	return show(ctx, op, *namespace, out)
}

// config reads the variables of etcdctl.
func config(env func(string) string) (clientv3.Config, error) {
	endpoints := env("ETCDCTL_ENDPOINTS")
	if endpoints == "" {
		endpoints = "127.0.0.1:2379"
	}
	cfg := clientv3.Config{Endpoints: strings.Split(endpoints, ","), Logger: zap.NewNop()}
	cfg.Username, cfg.Password, _ = strings.Cut(env("ETCDCTL_USER"), ":")
	if cfg.Password == "" {
		cfg.Password = env("ETCDCTL_PASSWORD")
	}
	info := transport.TLSInfo{TrustedCAFile: env("ETCDCTL_CACERT"), CertFile: env("ETCDCTL_CERT"), KeyFile: env("ETCDCTL_KEY")}
	if info.TrustedCAFile+info.CertFile != "" || strings.HasPrefix(endpoints, "https:") {
		var err error
		if cfg.TLS, err = info.ClientConfig(); err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}

// memberClock returns the clock of the first member that answers, to a second.
func memberClock(ctx context.Context, cfg clientv3.Config) (clock time.Time, err error) {
	client := http.Client{Transport: &http.Transport{TLSClientConfig: cfg.TLS, DisableKeepAlives: true}}
	for _, endpoint := range cfg.Endpoints {
		if !strings.Contains(endpoint, "://") {
			endpoint = map[bool]string{false: "http://", true: "https://"}[cfg.TLS != nil] + endpoint
		}
		req, failure := http.NewRequestWithContext(ctx, http.MethodGet, endpoint+"/version", nil)
		if failure == nil {
			var resp *http.Response
			if resp, failure = client.Do(req); failure == nil {
				_ = resp.Body.Close()
				if clock, failure = http.ParseTime(resp.Header.Get("Date")); failure == nil {
					return clock, nil
				}
			}
		}
		err = errors.Join(err, fmt.Errorf("read the clock of the member at %s: %w", endpoint, failure))
	}
	return clock, err
}

func show(ctx context.Context, op lease.Operator, namespace string, out io.Writer) error {
	r, err := op.Record(ctx, namespace)
	if err != nil {
		return err
	}
	slots, err := op.Slots(ctx, namespace)
	if err != nil {
		return err
	}
	at := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano) }
	fmt.Fprintf(out, "pin          %v\nincarnation  %s\n", r.Pin, r.Incarnation)
	if r.Quarantined() {
		fmt.Fprintf(out, "quarantine   until %s: %s\n", at(r.Quarantine), r.Reason)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WORKER\tTOKEN\tEXPIRES\tMARK\tHOLDER")
	for _, s := range slots {
		if s.Token != 0 {
			fmt.Fprintf(table, "%d\t%d\t%s\t%s\t%q\n", s.Worker, s.Token, at(s.Expires), at(s.Mark), s.Holder)
		}
	}
	return table.Flush()
}
