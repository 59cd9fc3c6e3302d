package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"

	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// examine returns what the doctor finds, by check: "note: seen -> advice".
func examine(t *testing.T, args ...string) (code int, found map[string]string) {
	t.Helper()
	code, out, errs := call(t, "", append([]string{"doctor", "--json"}, args...)...)
	found = map[string]string{}
	for line := range strings.Lines(out) {
		var f lease.Finding
		require.NoError(t, json.Unmarshal([]byte(line), &f))
		require.False(t, f.Level == lease.LevelFault && f.Advice == "", "%+v", f)
		found[f.Check] += f.Level + ": " + f.Seen + " -> " + f.Advice + "\n"
	}
	require.NotEmpty(t, found, errs)
	return code, found
}

// finds requires that the doctor finds this, and no other fault.
func finds(t *testing.T, check, want string, args ...string) {
	t.Helper()
	code, found := examine(t, args...)
	require.Contains(t, found[check], want, "%v", found)
	faults := 0
	for name, text := range found {
		if strings.HasPrefix(text, "fault") {
			require.Equal(t, check, name, "%v", found)
			faults++
		}
	}
	require.Equal(t, faults > 0, code == 3, "%v", found)
}

// A cluster as it should be has neither faults nor notes.
func TestDoctor(t *testing.T) {
	t.Parallel()
	e := testserver.NewEtcd(t, 3)
	code, _, errs := call(t, "", "init", "--yes", "--namespace=orders", storeOf(e.URLs()...))
	require.Zero(t, code, errs)
	revision := func() int64 {
		resp, err := dial(t, e.URLs()...).Get(t.Context(), "x")
		require.NoError(t, err)
		return resp.Header.Revision
	}
	before := revision()
	code, found := examine(t, "--namespace=orders", "--replicas=4", storeOf(e.URLs()...))
	require.Zero(t, code)
	for _, check := range []string{"connect", "clock", "member", "members", "version", "size", "alarms", "rights", "history", "incarnation", "namespace", "times", "workers", "pool"} {
		require.True(t, strings.HasPrefix(found[check], "ok: "), "%s: %v", check, found)
		delete(found, check)
	}
	delete(found, "layout")
	require.Empty(t, found)
	require.Equal(t, before, revision(), "the doctor changes nothing")
	finds(t, "namespace", "note: nothing is on record for audit", "--namespace=audit", storeOf(e.URLs()...))

	// A member less, then no quorum.
	e.Nodes[2].Kill()
	finds(t, "member", "note: "+strings.TrimPrefix(e.Nodes[2].DSN(), "http://"), "--namespace=orders", storeOf(e.URLs()...))
	e.Nodes[1].Kill()
	require.Eventually(t, func() bool { // until the member misses the others
		code, found = examine(t, storeOf(e.URLs()...))
		return strings.Contains(found["member"], "without a leader -> without a quorum, nothing is lent")
	}, 30*time.Second, 10*time.Millisecond, "%v", found)
	require.Equal(t, 3, code)
	require.Contains(t, found["members"], "ok: 3 voting members")
	require.NotContains(t, found, "rights")
	e.Nodes[0].Kill()
	_, found = examine(t, storeOf(e.URLs()...))
	require.Contains(t, found["connect"], "cannot connect")
}

func TestDoctorMembers(t *testing.T) {
	t.Parallel()
	t.Run("one", func(t *testing.T) {
		t.Parallel()
		finds(t, "members", "note: one voting member -> ", storeOf(testserver.NewEtcd(t, 1).URLs()...))
	})
	t.Run("two", func(t *testing.T) {
		t.Parallel()
		finds(t, "members", "note: 2 voting members -> they endure no more failures than 1", storeOf(testserver.NewEtcd(t, 2).URLs()...))
	})
	t.Run("a learner", func(t *testing.T) {
		t.Parallel()
		e := testserver.NewEtcd(t, 3)
		leader := e.Leader()
		follower := e.Nodes[slices.IndexFunc(e.Nodes, func(s *testserver.Server) bool { return s != leader })]
		follower.Kill()
		e.Rejoin(follower, "--learner")
		_, found := examine(t, storeOf(e.URLs()...))
		require.Contains(t, found["member"], ", a learner -> a learner refuses the calls of clients")
	})
	t.Run("two clusters", func(t *testing.T) {
		t.Parallel()
		_, found := examine(t, storeOf(testserver.NewEtcd(t, 1).URLs()[0], testserver.NewEtcd(t, 1).URLs()[0]))
		require.Contains(t, found["cluster"], "fault: the endpoints lead to 2 clusters")
	})
}

func TestDoctorRights(t *testing.T) {
	t.Parallel()
	e := testserver.NewEtcd(t, 1)
	for _, args := range [][]string{
		{"user", "add", "root:root"},
		{"user", "grant-role", "root", "root"},
		{"role", "add", "reader"},
		{"role", "grant-permission", "reader", "read", "--prefix=true", "snowlease/orders/"},
		{"user", "add", "app:s3cret"},
		{"user", "grant-role", "app", "reader"},
		{"auth", "enable"},
	} {
		e.Ctl(e.Nodes[0], args...)
	}
	store := strings.Replace(storeOf(e.URLs()...), "://", "://app:s3cret@", 1)
	finds(t, "rights", "grant-permission NAME readwrite --prefix=true snowlease/orders/", store, "--namespace=orders")
	e.Ctl(e.Nodes[0], "--user=root:root", "role", "grant-permission", "reader", "readwrite", "--prefix=true", "snowlease/orders/")
	finds(t, "rights", "ok: ", store, "--namespace=orders")
	finds(t, "history", "ok: ", store, "--namespace=orders")
	_, found := examine(t, strings.Replace(store, "s3cret", "wrong", 1))
	require.Contains(t, found["connect"], "check that it runs, and username and password")
}

// Some versions of etcd tell their status to root only. The doctor says so, and goes on.
func TestDoctorWithoutTheStatus(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	etcdserverpb.RegisterMaintenanceServer(server, denied{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	_, found := examine(t, "--timeout=10s", storeOf(listener.Addr().String()))
	require.True(t, strings.HasPrefix(found["connect"], "ok: "), "%v", found)
	require.Contains(t, found["member"], "note: could not be checked: "+listener.Addr().String())
	require.Contains(t, found["rights"], "fault: ", "the other checks go on")
	require.NotContains(t, found, "version")
}

type denied struct {
	etcdserverpb.UnimplementedMaintenanceServer
}

func (denied) Status(context.Context, *etcdserverpb.StatusRequest) (*etcdserverpb.StatusResponse, error) {
	return nil, rpctypes.ErrGRPCPermissionDenied
}

// A database that fills up is a note, and a full one a fault.
func TestDoctorSize(t *testing.T) {
	t.Parallel()
	e := testserver.NewEtcd(t, 1, "--quota-backend-bytes=2000000", "--backend-batch-limit=1") // each write counts at once
	client := dial(t, e.URLs()...)
	finds(t, "size", "ok: ", storeOf(e.URLs()...))
	fill := func(more func() bool) (err error) {
		for i := 0; i < 100 && err == nil && more(); i++ {
			_, err = client.Put(t.Context(), fmt.Sprint(i), strings.Repeat("x", 50_000))
		}
		return err
	}
	require.NoError(t, fill(func() bool {
		_, found := examine(t, storeOf(e.URLs()...))
		return !strings.Contains(found["size"], "note: ")
	}))
	require.ErrorContains(t, fill(func() bool { return true }), "database space exceeded")
	code, found := examine(t, storeOf(e.URLs()...))
	require.Equal(t, 3, code)
	require.Contains(t, found["alarms"], "fault: NOSPACE of member ")
	require.Contains(t, found["rights"], "fault: ")
}

// A member that found that its data differs raises an alarm, and etcd then refuses reads and writes.
func TestDoctorCorrupt(t *testing.T) {
	t.Parallel()
	e := testserver.NewEtcd(t, 1)
	status, err := dial(t, e.URLs()...).Status(t.Context(), e.URLs()[0])
	require.NoError(t, err)
	_, err = maintenance(dial(t, e.URLs()...)).Alarm(t.Context(), &etcdserverpb.AlarmRequest{
		Action: etcdserverpb.AlarmRequest_ACTIVATE, Alarm: etcdserverpb.AlarmType_CORRUPT, MemberID: status.Header.MemberId,
	})
	require.NoError(t, err)
	code, found := examine(t, storeOf(e.URLs()...))
	require.Equal(t, 3, code)
	require.Contains(t, found["alarms"], fmt.Sprintf("fault: CORRUPT of member %x -> the members differ: replace the corrupt one", status.Header.MemberId))
	require.Contains(t, found["rights"], "fault: ")
}

func TestDoctorHistory(t *testing.T) {
	t.Parallel()
	e := testserver.NewEtcd(t, 1)
	client := dial(t, e.URLs()...)
	var wait sync.WaitGroup
	for range 100 { // etcd syncs the writes of many clients at once
		wait.Go(func() {
			for range manyRevisions / 100 {
				if _, err := client.Put(t.Context(), "other", ""); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	finds(t, "history", "none compacted -> the database grows until it is full", storeOf(e.URLs()...))
	_, err := client.Compact(t.Context(), 5000)
	require.NoError(t, err)
	finds(t, "history", "ok: etcd compacts it", storeOf(e.URLs()...))
}

// memberAhead is a member whose clock is off. It answers no other question.
func memberAhead(t *testing.T, off time.Duration) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(off).UTC().Format(http.TimeFormat))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestDoctorClock(t *testing.T) {
	t.Parallel()
	url := testserver.NewEtcd(t, 1).Nodes[0].DSN()
	finds(t, "clock", "note: ", storeOf(memberAhead(t, 10*time.Second), url))
	finds(t, "clock", "fault: ", storeOf(url, memberAhead(t, -time.Hour)))
}

// A restore from a snapshot that shows is a quarantine, which the doctor notes.
func TestDoctorAfterARestore(t *testing.T) {
	t.Parallel()
	e := testserver.NewEtcd(t, 1)
	args := []string{"--namespace=orders", storeOf(e.URLs()...)}
	code, _, errs := call(t, "", append([]string{"init", "--yes"}, args...)...)
	require.Zero(t, code, errs)
	e.Restore(e.Save(e.Nodes[0]), "another")
	c, err := etcdseq.New(dial(t, e.URLs()...))
	require.NoError(t, err)
	_, err = c.Acquire(t.Context(), request())
	require.ErrorAs(t, err, new(*lease.QuarantineError))
	finds(t, "quarantine", "note: possible loss of records: ", args...)
}

func TestUnfitVersions(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"2.3.8": "3.4 or later is", "3.3.27": "3.4 or later is", "": "3.4 or later is",
		"3.4.21": "update to 3.4.22", "3.4.22": "", "3.5.0-rc.0": "update to", "3.5.5": "update to", "3.5.6": "",
		"3.6.0": "", "4.0.0": "",
	} {
		got := unfit(version)
		require.Equal(t, want == "", got == "", version)
		require.Contains(t, got, want, version)
	}
}
