package console

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

// A level is the severity of an outlook.
type level string

const (
	green level = "green" // ids are issued and will continue
	amber level = "amber" // ids will stop if nothing changes, or the first ids come after a countdown
	red   level = "red"   // no ids
	gray  level = "gray"  // no ids, on purpose
)

func (l level) rank() int {
	return map[level]int{gray: 1, amber: 2, red: 3}[l]
}

// The kinds of outlooks.
const (
	ok      = "ok"
	failing = "failing" // ids are issued, but renewals fail
	lost    = "lost"    // the lease was lost, ids are issued up to its end
	ahead   = "ahead"   // ids are issued, but their times lie ahead of the clock
	stopped = "stopped" // no ids, because the lease has expired
	delayed = "waiting" // no worker id yet
	off     = "off"     // not started, or closed
)

// An outlook describes what a worker will do if nothing changes. Its times are by this host's
// clock, like the times in the log.
type outlook struct {
	Level level  `json:"level"`
	Kind  string `json:"kind"`
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"`   // advice
	Link  string `json:"link,omitempty"` // the URL of more documentation
	// Since is when the condition began, Until when it ends or ids stop. Zero if unknown.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`

	numbers bool // they stop, not ids
}

// Word returns the level as a word, for readers who do not see colors.
func (o outlook) Word() string {
	if o.numbers && o.Level == red {
		return "No numbers"
	}
	return map[level]string{green: "OK", amber: "Warning", red: "No ids", gray: "Off"}[o.Level]
}

// The sections of the documentation.
const (
	docs      = "https://github.com/snowlease/snowlease/blob/main/docs/"
	lateTimes = docs + "operations.md#late-times"

	noNumbers   = docs + "operations.md#idworkersegmentissuesnothing"
	fewNumbers  = docs + "operations.md#idworkersegmentwillstop"
	lastNumbers = docs + "operations.md#idworkersegmentending"
	lostNumbers = docs + "numbers.md#losing-restoring-moving"
)

// links are the sections by kind of outlook.
var links = map[string]string{
	failing: docs + "on-call.md#ids-stop-soon",
	lost:    docs + "on-call.md#ids-stop-soon",
	stopped: docs + "on-call.md#no-ids",
	ahead:   docs + "on-call.md#ids-are-ahead-of-the-clock",
	delayed: docs + "on-call.md#waiting-for-a-worker-id",
}

// newOutlook returns the outlook of a worker. healthy is the error of Worker.Healthy, and
// host the time by this host's clock.
func newOutlook(st snowlease.Status, healthy error, host time.Time) outlook {
	c := circumstances{st, host, st.Now.Sub(host)}
	if st.Now.IsZero() {
		c.off = 0
	}
	o := c.outlook(healthy)
	o.Link = cmp.Or(o.Link, links[o.Kind])
	o.Since, o.Until = printable.Time(o.Since.UnixMilli()).UTC(), printable.Time(o.Until.UnixMilli()).UTC()
	return o
}

// circumstances are the inputs of an outlook.
type circumstances struct {
	snowlease.Status
	host time.Time
	off  time.Duration // how far the center's clock is ahead of the host's
}

func (c circumstances) outlook(healthy error) outlook {
	o := outlook{Level: amber, Kind: failing, Text: "ids stop in " + seconds(c.Ceiling.Sub(c.Now)) + ": ", Since: c.FailingSince, Until: c.local(c.Ceiling)}
	switch {
	case c.State == snowlease.StateStopped:
		return outlook{Level: gray, Kind: off, Text: "stopped: the worker was closed and issues no more ids"}
	case c.State == snowlease.StateNotStarted && c.Err == nil && !c.had():
		return outlook{Level: gray, Kind: off, Text: "not started: there is no worker id yet", Do: "Nothing, while the program starts. Ids are available from OnStart on."}
	case c.Sequence != nil:
		return c.counted(healthy)
	case !issues(c.Status):
		return c.dry()
	case unknown(healthy):
		return outlook{Level: red, Kind: stopped, Text: "no ids: " + healthy.Error()}
	case c.Ceiling.IsZero():
		return outlook{Level: green, Kind: ok, Text: "issues ids; the worker id is fixed, so there is no lease"}
	case c.State != snowlease.StateReady:
		o.Kind, o.Text = lost, o.Text+"the lease was lost, and "
		return c.waits(o)
	case errors.As(c.Err, new(*lease.QuarantineError)):
		return c.waits(o)
	case !c.FailingSince.IsZero():
		o.Text += "renewals have failed since " + c.clock(c.FailingSince)
	case c.late():
		o.Text, o.Since = o.Text+"the lease was last renewed "+c.clock(c.Renewed), c.Renewed
	case c.Floor.After(c.Now):
		return outlook{
			Level: green, Kind: ahead, Until: c.local(c.Floor),
			Text: "issues ids, whose times the clock reaches in " + seconds(c.Floor.Sub(c.Now)) + ": " + c.cause(),
		}
	default:
		return outlook{Level: green, Kind: ok, Text: "issues ids; the lease is renewed"}
	}
	o.Do = c.remedy("The worker retries renewals.")
	return o
}

// cause returns the reason why ids lie ahead of the clock.
func (c circumstances) cause() string {
	switch c.Reason {
	case lease.NothingOnRecord:
		return "the namespace is new, which is normal for its first ids"
	case "":
		return "the namespace is new, or " + c.Center + " was restarted or restored, and new ids lie above all ids of leases that it may have lost"
	}
	return c.Center + " may have lost leases (" + printable.Reason(c.Reason) + "), and new ids lie above all of their ids"
}

// unknown reports whether err is a reason for missing ids that the state does not show.
func unknown(err error) bool {
	return err != nil && !errors.Is(err, snowlease.ErrLeaseExpired) && !errors.Is(err, snowlease.ErrNotStarted) && !errors.Is(err, snowlease.ErrClosed)
}

// late reports whether half the term of the lease has passed without a renewal. A renewal that
// hangs has not failed yet.
func (c circumstances) late() bool {
	renewed := c.Renewed.Add(c.off)
	return !c.Renewed.IsZero() && c.Now.Sub(renewed) > c.Ceiling.Sub(c.Now)
}

// dry returns the outlook of a worker without ids.
func (c circumstances) dry() outlook {
	o := outlook{Level: red, Kind: delayed, Text: "no worker id yet: ", Since: c.FailingSince}
	if c.State != snowlease.StateExpired {
		return c.waits(o)
	}
	end := c.local(c.Ceiling)
	if end.After(c.host) {
		return outlook{
			Level: red, Kind: stopped, Text: "no ids: a burst has used up the lease up to its end, " + c.clock(end),
			Do: "Ids resume with the next renewal. Use NextIDs or NextIDWait, more sequence bits, or more replicas.",
		}
	}
	o.Kind, o.Since = stopped, end
	o.Text = "no ids since " + c.clock(end) + " (" + seconds(c.host.Sub(end).Truncate(time.Second)) + "): "
	if errors.Is(c.Err, lease.ErrLost) || errors.As(c.Err, new(*lease.QuarantineError)) || errors.As(c.Err, new(*lease.NoFreeWorkerError)) { // not of a renewal
		o.Text += "the lease was lost, and "
		return c.waits(o)
	}
	o.Text += "the lease has expired"
	if !c.FailingSince.IsZero() {
		o.Text += "; renewals have failed since " + c.clock(c.FailingSince)
	}
	o.Do = c.remedy("Ids resume by themselves, without a restart.")
	return o
}

// waits completes the outlook of a worker that waits for a worker id.
func (c circumstances) waits(o outlook) outlook {
	q, full := (*lease.QuarantineError)(nil), (*lease.NoFreeWorkerError)(nil)
	switch {
	case errors.As(c.Err, &q):
		left := c.left(q.Until)
		if o.Text += "the center lends again in " + seconds(left) + ": " + printable.Reason(q.Reason); q.Reason == lease.NothingOnRecord && !c.had() {
			o.Text = "first start: the namespace is new, and its first worker id comes in " + seconds(left)
		}
		o.Do = "Nothing: the wait ends by itself, and ids stay unique."
		if o.Level == red {
			o.Kind, o.Until = delayed, c.local(q.Until)
			if !c.had() {
				o.Level = amber
			}
		}
		if left > longestQuarantine {
			o.Level, o.Do, o.Link = red, "Find the origin of such a late time: a clock that was ahead, or another program. See \"snowlease doctor\".", lateTimes
		}
	case errors.As(c.Err, &full):
		o.Text += fmt.Sprintf("all %s worker ids are lent; the first may be free in %s", thousands(full.Last-full.First+1), seconds(c.left(full.Soonest)))
		o.Do = "Run fewer replicas, or plan more worker ids. The table below shows the holders."
		if o.Until.IsZero() {
			o.Until = c.local(full.Soonest)
		}
	case c.Err == nil || errors.Is(c.Err, lease.ErrLost):
		o.Text += "the process borrows another worker id"
		o.Do = "Nothing: ids continue under another worker id. If this recurs, look for pauses of the process: CPU throttling, memory, a frozen VM."
	default:
		o.Text += "attempts to borrow one have failed since " + c.clock(c.FailingSince)
		o.Do = c.remedy("The worker retries.")
	}
	return o
}

// had reports whether the worker has had a worker id before, so that requests for ids now fail
// that succeeded earlier.
func (c circumstances) had() bool {
	return !c.Renewed.IsZero() || c.Sequence != nil && c.Sequence.Reserved > 0
}

// longestQuarantine exceeds the sum of any max_ttl and skew.
const longestQuarantine = 36 * time.Hour

// remedy returns advice against the error, followed by the sentence then, which describes what
// happens automatically.
func (c circumstances) remedy(then string) string {
	switch {
	case errors.As(c.Err, new(*lease.MismatchError)):
		return "Give all members of the namespace one configuration; the error names the difference."
	case errors.As(c.Err, new(*lease.ClockError)):
		return "Correct the clock that is wrong (NTP). " + then
	case errors.Is(c.Err, lease.ErrSetup):
		return "Change the setup of the center as the error says."
	}
	return "Make " + c.Center + " reachable again. " + then
}

// counted returns the outlook in mode redis-sequence.
func (c circumstances) counted(healthy error) outlook {
	since := c.FailingSince
	o := outlook{Level: red, Kind: stopped, Text: "no ids: calls of Redis have failed since " + c.clock(since), Do: c.remedy("Ids resume by themselves, without a restart."), Since: since}
	switch {
	case c.State == snowlease.StateQuarantined:
		o.Kind, o.Text = delayed, "no ids: "
		return c.waits(o)
	case !since.IsZero() && c.Sequence.AtHand > 0:
		o.Level, o.Kind = amber, failing
		o.Text = fmt.Sprintf("ids stop soon: calls of Redis have failed since %s; the %s ids reserved are still issued", c.clock(since), thousands(c.Sequence.AtHand))
	case !since.IsZero():
	case healthy != nil && c.State != snowlease.StateReady:
		o.Text = "no ids: " + healthy.Error()
	default:
		return outlook{Level: green, Kind: ok, Text: "issues ids; Redis counts them, so there is no lease"}
	}
	return o
}

// local converts a time of the center's clock to this host's clock.
func (c circumstances) local(t time.Time) time.Time { return t.Add(-c.off) }

// left returns the time left until a time of the center's clock.
func (c circumstances) left(t time.Time) time.Duration { return max(0, c.local(t).Sub(c.host)) }

func (c circumstances) clock(t time.Time) string { return moment(t, c.host) + " UTC" }
