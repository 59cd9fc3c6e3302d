package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/internal/findings"
	"github.com/snowlease/snowlease/lease"
)

// examine is that of lease.Extras.
func (c center) examine(ctx context.Context, namespace string) ([]lease.Finding, error) {
	if err := lease.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	x := examination{center: c, clusters: map[uint64]bool{}}
	for _, endpoint := range c.at.Endpoints {
		x.endpoint(ctx, endpoint)
	}
	if len(x.clusters) > 1 {
		x.Fault("cluster", fmt.Sprintf("the endpoints lead to %d clusters", len(x.clusters)), "each of them lends the same worker ids: name the members of one cluster only")
	}
	x.fine("clock", "those of the members are as this host's, to a second")
	x.fine("member", fmt.Sprintf("%d endpoints answer", len(c.at.Endpoints)))
	if x.full > 0 { // a quota is known
		x.fine("size", fmt.Sprintf("a database takes up to %.0f %% of its quota", 100*x.full))
	}
	x.members(ctx)
	if x.led { // otherwise the rest only repeats that
		x.alarms(ctx)
		base := c.at.Prefix + namespace + "/"
		x.rights(ctx, base)
		x.history(ctx, base)
	}
	return x.List, nil
}

// An examination is one call of examine.
type examination struct {
	findings.List
	center
	clusters map[uint64]bool
	versions []string
	led      bool    // a member knows a leader
	full     float64 // how much of its quota the largest database takes
}

// fine adds that a check found nothing, unless it did.
func (x *examination) fine(check, seen string) {
	if !slices.ContainsFunc(x.List, func(f lease.Finding) bool { return f.Check == check }) {
		x.OK(check, seen)
	}
}

// short returns the context of one call. Without a leader, it fails at once.
func short(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(clientv3.WithRequireLeader(ctx), memberTimeout)
}

// endpoint checks the member at an endpoint.
func (x *examination) endpoint(ctx context.Context, endpoint string) {
	before := time.Now()
	clock, metrics, silent := x.at.metrics(ctx, endpoint)
	if silent == nil {
		x.clock(endpoint, clock, before, time.Now())
	}
	status, err := x.status(ctx, endpoint)
	if err != nil && refused(err) { // some versions tell the status to root only
		x.Unknown("member", fmt.Errorf("%s: %w", endpoint, err))
		x.led = true
		return
	}
	if err != nil {
		x.Note("member", fmt.Sprintf("%s: %v", endpoint, err), "if more than half of the members are away, nothing is lent or renewed: start this one, or take it out of the endpoints")
		return
	}
	if silent != nil {
		x.Unknown("clock", fmt.Errorf("%s: %w", endpoint, silent))
	}
	x.clusters[status.Header.ClusterId] = true
	x.versions = append(x.versions, status.Version)
	x.led = x.led || status.Leader != 0
	seen := fmt.Sprintf("%s: etcd %s", endpoint, status.Version)
	switch {
	case status.IsLearner:
		x.Fault("member", seen+", a learner", "a learner refuses the calls of clients: take it out of the endpoints, or promote it")
	case status.Leader == 0:
		x.Fault("member", seen+", without a leader", "without a quorum, nothing is lent or renewed: start the other members, and check the network between them")
	}
	x.size(endpoint, status, metrics)
}

// status asks one member. Only the calls of its own connection reach it for certain.
func (x *examination) status(ctx context.Context, endpoint string) (*etcdserverpb.StatusResponse, error) {
	cfg := x.at.Config
	cfg.Endpoints = []string{endpoint}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	client, err := etcdseq.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return maintenance(client).Status(ctx, &etcdserverpb.StatusRequest{})
}

// clock compares the clock of a member, which is known to half a second, with this host's.
func (x *examination) clock(endpoint string, now, before, after time.Time) {
	half := after.Sub(before) / 2
	off := now.Sub(before.Add(half))
	if off = off.Round(100 * time.Millisecond); off.Abs() <= time.Second+half {
		return
	}
	seen := fmt.Sprintf("%s: %v off this host's, to a second", endpoint, off)
	advice := "etcd tells no time, so ids carry the clocks of the hosts: correct the wrong clock and keep it synchronized (NTP)"
	if off.Abs() > lease.MaxClockError {
		x.Fault("clock", seen, advice)
	} else {
		x.Note("clock", seen, advice)
	}
}

// quotaMetric is the quota in the metrics of a member. Its status has it since etcd 3.6.
var quotaMetric = regexp.MustCompile(`(?m)^etcd_server_quota_backend_bytes (\S+)$`)

func (x *examination) size(endpoint string, status *etcdserverpb.StatusResponse, metrics string) {
	quota := float64(status.DbSizeQuota)
	if m := quotaMetric.FindStringSubmatch(metrics); quota == 0 && m != nil {
		quota, _ = strconv.ParseFloat(m[1], 64)
	}
	if quota <= 0 {
		return
	}
	full := float64(status.DbSize) / quota
	if x.full = max(x.full, full); full > 0.8 {
		x.Note("size", fmt.Sprintf("%s: the database takes %.0f %% of its quota", endpoint, 100*full),
			"a full database accepts no writes, so nothing is lent or renewed: compact, defragment, and raise --quota-backend-bytes")
	}
}

// members checks the size of the cluster, and its versions.
func (x *examination) members(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	list, err := etcdserverpb.NewClusterClient(x.client.ActiveConnection()).MemberList(ctx, &etcdserverpb.MemberListRequest{})
	if err != nil {
		x.Unknown("members", err)
		return
	}
	voting := 0
	for _, m := range list.Members {
		if !m.IsLearner {
			voting++
		}
	}
	switch seen := fmt.Sprintf("%d voting members", voting); {
	case voting == 1:
		x.Note("members", "one voting member", "while it is down, nothing is lent or renewed, and a lost disk loses all grants: run three members")
	case voting%2 == 0:
		x.Note("members", seen, fmt.Sprintf("they endure no more failures than %d: run an odd number", voting-1))
	default:
		x.OK("members", seen)
	}
	if len(x.versions) == 0 {
		return
	}
	for _, version := range x.versions {
		if fault := unfit(version); fault != "" {
			x.Fault("version", "etcd "+version, fault)
			return
		}
	}
	slices.Sort(x.versions)
	x.OK("version", "etcd "+strings.Join(slices.Compact(x.versions), ", "))
}

// unfit returns what to do about a version, or "" if it is fine.
func unfit(version string) string {
	var major, minor, patch int
	// A version may end in -rc.0.
	n, _ := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch)
	switch {
	case n < 3 || major < 3 || major == 3 && minor < 4:
		return "etcd 3.4 or later is needed"
	case major == 3 && (minor == 4 && patch < 22 || minor == 5 && patch < 6):
		return "it can lose acknowledged grants in a crash (docs/engines.md): update to 3.4.22, 3.5.6 or later"
	}
	return ""
}

func (x *examination) alarms(ctx context.Context) {
	ctx, cancel := short(ctx)
	defer cancel()
	list, err := maintenance(x.client).Alarm(ctx, &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_GET})
	if err != nil {
		x.Unknown("alarms", err)
		return
	}
	for _, a := range list.Alarms {
		advice := "the members differ: replace the corrupt one by etcdctl member remove and member add"
		if a.Alarm == etcdserverpb.AlarmType_NOSPACE {
			advice = "etcd accepts no writes: compact, defragment, raise --quota-backend-bytes, and then run etcdctl alarm disarm"
		}
		x.Fault("alarms", fmt.Sprintf("%v of member %x", a.Alarm, a.MemberID), advice)
	}
	if len(list.Alarms) == 0 {
		x.OK("alarms", "none")
	}
}

// rights tries what the center does. The transaction writes nothing, since its condition is
// never true, but etcd checks the rights for all of it.
func (x *examination) rights(ctx context.Context, base string) {
	ctx, cancel := short(ctx)
	defer cancel()
	key := base + "nothing"
	_, err := x.client.Get(ctx, base, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err == nil {
		_, err = x.client.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(key), "<", 0)).
			Then(clientv3.OpPut(key, "")).Commit()
	}
	switch {
	case err == nil:
		x.OK("rights", "may read and write "+base+"*")
	case errors.Is(err, rpctypes.ErrPermissionDenied), errors.Is(err, rpctypes.ErrUserEmpty):
		x.Fault("rights", err.Error(), "grant the user a role: etcdctl role grant-permission NAME readwrite --prefix=true "+base)
	default:
		x.Fault("rights", err.Error(), "nothing is lent or renewed: fix what its error says")
	}
}

// manyRevisions are as many as 32 worker ids make in an hour.
const manyRevisions = 10_000

func (x *examination) history(ctx context.Context, base string) {
	ctx, cancel := short(ctx)
	defer cancel()
	latest, err := x.client.Get(ctx, base, clientv3.WithCountOnly())
	if err == nil {
		_, err = x.client.Get(ctx, base, clientv3.WithCountOnly(), clientv3.WithRev(1))
	}
	switch {
	case errors.Is(err, rpctypes.ErrCompacted):
		x.OK("history", "etcd compacts it")
	case err != nil:
		x.Unknown("history", err)
	case latest.Header.Revision > manyRevisions:
		x.Note("history", fmt.Sprintf("%d revisions, none compacted", latest.Header.Revision), "the database grows until it is full: set --auto-compaction-retention=1h")
	default:
		x.OK("history", fmt.Sprintf("%d revisions", latest.Header.Revision))
	}
}
