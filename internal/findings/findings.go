// Package findings collects the results of checks of a store.
package findings

import (
	"fmt"
	"net"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// A List collects findings. Each method adds one.
type List []lease.Finding

// OK adds a finding without a problem.
func (l *List) OK(check, seen string) { l.add(lease.LevelOK, check, seen, "") }

// Note adds a finding that is worth knowing.
func (l *List) Note(check, seen, advice string) { l.add(lease.LevelNote, check, seen, advice) }

// Fault adds a finding that must be fixed.
func (l *List) Fault(check, seen, advice string) { l.add(lease.LevelFault, check, seen, advice) }

func (l *List) add(level, check, seen, advice string) {
	*l = append(*l, lease.Finding{Level: level, Check: check, Seen: seen, Advice: advice})
}

// A Row is a possible finding: its level, its condition and the remedy.
type Row struct {
	when          bool
	level, advice string
}

// Fault returns a Row for a problem that must be fixed.
func Fault(when bool, advice string) Row { return Row{when, lease.LevelFault, advice} }

// Note returns a Row for a fact that is worth knowing.
func Note(when bool, advice string) Row { return Row{when, lease.LevelNote, advice} }

// Table adds the first of the rows whose condition holds, or an OK.
func (l *List) Table(check, seen string, rows ...Row) {
	for _, r := range rows {
		if r.when {
			l.add(r.level, check, seen, r.advice)
			return
		}
	}
	l.OK(check, seen)
}

// Judge adds a Fault if bad is set, and an OK otherwise.
func (l *List) Judge(bad bool, check, seen, advice string) {
	l.Table(check, seen, Fault(bad, advice))
}

// Unknown adds a check that failed.
func (l *List) Unknown(check string, err error) {
	l.Note(check, "could not be checked: "+err.Error(), "")
}

// Clock compares a store's clock with this host's. The store's clock showed now at some time
// between before and after.
func (l *List) Clock(now, before, after time.Time) {
	middle := before.Add(after.Sub(before) / 2)
	off := now.Sub(middle).Round(time.Millisecond)
	seen := fmt.Sprintf("%v off this host's, give or take %v", off, (after.Sub(before) / 2).Round(time.Millisecond))
	advice := "correct the wrong clock and keep it synchronized (NTP)"
	if r := off.Round(30 * time.Minute); r != 0 && (off-r).Abs() < time.Minute {
		advice = "one of the clocks seems to be set to local time: set it to UTC"
	}
	l.Table("clock", seen,
		Fault(off.Abs() > lease.MaxClockError, fmt.Sprintf("more than %v: no worker id is lent; %s", lease.MaxClockError, advice)),
		Note(off.Abs() > time.Second, "ids carry the store's time; "+advice))
}

// Encryption judges a connection by its cipher, which is empty if the connection is not
// encrypted, and by the host at its other end.
func (l *List) Encryption(cipher, host string) {
	ip := net.ParseIP(host)
	switch {
	case cipher != "":
		l.OK("encryption", cipher)
	case host == "localhost" || ip != nil && ip.IsLoopback():
		l.OK("encryption", "none, within this host")
	default:
		l.Note("encryption", "none, between the store and "+host, "others on the network may read the password and write leases: turn TLS on (docs/engines.md, TLS)")
	}
}
