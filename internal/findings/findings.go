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
func (l *List) OK(check, seen string) {
	*l = append(*l, lease.Finding{Level: lease.LevelOK, Check: check, Seen: seen})
}

// Note adds something worth knowing.
func (l *List) Note(check, seen, advice string) {
	*l = append(*l, lease.Finding{Level: lease.LevelNote, Check: check, Seen: seen, Advice: advice})
}

// Fault adds something that must be fixed.
func (l *List) Fault(check, seen, advice string) {
	*l = append(*l, lease.Finding{Level: lease.LevelFault, Check: check, Seen: seen, Advice: advice})
}

// Judge adds a fault if bad, and an OK otherwise.
func (l *List) Judge(bad bool, check, seen, advice string) {
	if bad {
		l.Fault(check, seen, advice)
	} else {
		l.OK(check, seen)
	}
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
	switch {
	case off.Abs() > lease.MaxClockError:
		l.Fault("clock", seen, fmt.Sprintf("more than %v: no worker id is lent; %s", lease.MaxClockError, advice))
	case off.Abs() > time.Second:
		l.Note("clock", seen, "ids carry the store's time; "+advice)
	default:
		l.OK("clock", seen)
	}
}

// Encryption judges a connection by its cipher, which is empty in plain text, and by the
// host at its other end.
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
