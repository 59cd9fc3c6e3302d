package memcenter_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mutations knock out one rule each. killer is the promise of the contract that
// must then be found broken.
var mutations = []struct{ file, rule, instead, killer string }{
	// What is lent.
	{"rules/rules.go", `s.Expires < now && s.Mark < now`, `s.Expires < now`, "a full pool says when the first worker id is free"},
	{"rules/rules.go", `s.Expires < now && s.Mark < now`, `true`, "a worker id is lent to one holder at a time"},
	{"rules/rules.go", `max(s.Expires, s.Mark) + 1`, `s.Expires + 1`, "a full pool says when the first worker id is free"},
	{"rules/rules.go", `max(s.Expires, s.Mark) + 1`, `max(s.Expires, s.Mark)`, "a full pool says when the first worker id is free"},
	{"rules/rules.go", `range ns.Slots[req.First : req.Last+1]`, `range ns.Slots`, "worker ranges are kept"},
	{"rules/rules.go", `w := req.First; w <= req.Last; w++`, `w := int64(0); w < req.Pool; w++`, "worker ranges are kept"},
	{"rules/rules.go", `|| s.Expires < ns.Slots[best].Expires`, ``, "least recently used first"},
	{"rules/rules.go", `{ return now - 1 }`, `{ return 0 }`, "least recently used first"},
	{"rules/rules.go", `{ return now - 1 }`, `{ return now + 1000 }`, "a release frees the worker id at once"},
	{"rules/rules.go", `max(s.Mark, quarantine, now-1)`, `s.Mark`, "a worker id is lent to one holder at a time"},
	{"rules/rules.go", `max(last, now) + 1`, `1`, "a worker id starts above all that was lent of it"},
	{"rules/rules.go", `if s.Owner == req.Owner &&`, `if false &&`, "asked again, the same owner gets the same grant"},
	{"rules/verbs.go", `Floor: s.Floor, Ceiling: s.Mark, Since`, `Floor: s.Mark - ms(req.TTL), Ceiling: s.Mark, Since`, "asked again, the same owner gets the same grant"},
	{"rules/verbs.go", `Floor: s.Floor, Ceiling: s.Mark, Since`, `Floor: s.Floor, Ceiling: now + ms(req.TTL), Since`, "asked again, the same owner gets the same grant"},
	{"rules/verbs.go", `s.Mark = now + ms(req.TTL)`, `s.Mark = now`, "a worker id is lent to one holder at a time"},
	{"rules/verbs.go", `s.Expires = now + ms(req.TTL)`, `s.Expires = now + ms(req.MaxTTL)`, "a full pool says when the first worker id is free"},
	// Who may ask.
	{"rules/rules.go", `req.Local == 0 ||`, `true ||`, "a client whose clock is far off is refused before anything is written"},
	{"rules/verbs.go", "if err := clockVeto(now, req); err != nil {\n\t\treturn ns, lease.Grant{}, err\n\t}\n\tns, err := ns.look(now, incarnation, req)", "ns, err := ns.look(now, incarnation, req)\n\tif err := clockVeto(now, req); err != nil {\n\t\treturn ns, lease.Grant{}, err\n\t}", "a client whose clock is far off is refused before anything is written"},
	{"rules/verbs.go", "ns, err := ns.look(now, incarnation, g.Request)\n\tif err != nil {\n\t\treturn ns, lease.Grant{}, err", "ns, err := ns.look(now, incarnation, g.Request)\n\tif err = clockVeto(now, g.Request); err != nil {\n\t\treturn ns, lease.Grant{}, err", "the lease ends on the centre's clock"},
	{"rules/verbs.go", "ns, err := ns.look(now, incarnation, req)", "now = max(now, req.Local)\n\tns, err := ns.look(now, incarnation, req)", "the lease ends on the centre's clock"},
	{"rules/loss.go", `ns.Meta.Pin == "" || ns.Meta.Pin == req.Pin()`, `true`, "members that differ are refused"},
	{"memcenter/center.go", `if invalid != nil {`, `if false {`, "invalid requests are refused before anything is written"},
	{"memcenter/center.go", `if g.Worker < g.First || g.Worker > g.Last {`, `if false {`, "invalid requests are refused before anything is written"},
	{"memcenter/center.go", `err := ctx.Err(); err != nil`, `err := ctx.Err(); false`, "a context that has ended ends the call"},
	{"memcenter/center.go", "ns, err := rule(c.namespaces[namespace], c.now())\n\tc.namespaces[namespace] = ns", "ns, err := rule(c.namespaces[strings.ToLower(namespace)], c.now())\n\tc.namespaces[strings.ToLower(namespace)] = ns", "namespaces are apart"},
	{"rules/verbs.go", `if !ns.Empty() {`, `if false {`, "Init opens at once, and only what is new"},
	{"rules/verbs.go", `if !ns.Empty() {`, `if ns.Meta.Pin != "" {`, "Init opens at once, and only what is new"},
	{"rules/verbs.go", `Holder: s.Holder, Since: s.Since, Expires`, `Holder: s.Holder, Expires`, "the slots of a namespace are shown"},
	{"rules/verbs.go", `Token: s.Token, Expires: freed(now)`, `Token: s.Token, Holder: s.Holder, Expires: freed(now)`, "the slots of a namespace are shown"},
	// Who holds.
	{"rules/rules.go", `s.Owner == g.Owner && s.Token == g.Token`, `s.Token == g.Token`, "renewal and release are fenced by owner and token"},
	{"rules/rules.go", `s.Owner == g.Owner && s.Token == g.Token`, `s.Owner == g.Owner`, "renewal and release are fenced by owner and token"},
	{"rules/verbs.go", `if !holds(ns.Slots[g.Worker], g) {`, `if false {`, "renewal and release are fenced by owner and token"},
	{"rules/rules.go", ` && s.Floor == g.Floor`, ``, "a late copy of a borrow is no re-take"},
	{"rules/rules.go", `s.Owner == g.Owner && s.Token > g.Token && s.Floor == g.Floor`, `false`, "after a wipe live holders re-take their worker ids"},
	{"rules/rules.go", `s.Expires >= now+ms(g.Skew)`, `true`, "an expired grant is lost for good"},
	{"rules/rules.go", `s.Expires >= now+ms(g.Skew)`, `s.Expires >= now`, "a grant that is about to expire is lost"},
	{"rules/rules.go", `max(s.Mark, g.Ceiling, now+ms(g.TTL))`, `max(s.Mark, now+ms(g.TTL))`, "a store that lost a renewal learns it from the holder"},
	{"rules/rules.go", `max(s.Mark, g.Ceiling, now+ms(g.TTL))`, `max(g.Ceiling, now+ms(g.TTL))`, "a renewal lowers neither the mark nor the expiry"},
	{"rules/rules.go", `max(s.Mark, g.Ceiling, now+ms(g.TTL))`, `max(s.Mark, g.Ceiling)`, "a renewal raises the ceiling"},
	{"rules/verbs.go", `s.Expires = max(s.Expires, now+ms(g.TTL))`, `s.Expires = now + ms(g.TTL)`, "a renewal lowers neither the mark nor the expiry"},
	{"rules/rules.go", `max(g.Floor, min(lastUsed, g.Ceiling))`, `min(lastUsed, g.Ceiling)`, "a release holds the last use within the grant"},
	{"rules/rules.go", `max(g.Floor, min(lastUsed, g.Ceiling))`, `max(g.Floor, lastUsed)`, "a release holds the last use within the grant"},
	{"rules/rules.go", `max(g.Floor, min(lastUsed, g.Ceiling))`, `g.Ceiling`, "a release frees the worker id at once"},
	{"rules/rules.go", `max(g.Floor, min(lastUsed, g.Ceiling))`, `g.Floor`, "a worker id starts above all that was lent of it"},
	{"rules/verbs.go", `*s = Slot{HasLease: true, HasMark: true, Token: s.Token,`, `*s = Slot{HasLease: true, HasMark: true, Token: s.Token, Owner: s.Owner,`, "a released grant is lost"},
	// What is lost.
	{"rules/loss.go", `reason := ns.loss(now, incarnation, req.Pool)`, "if ns.Empty() {\n\t\treturn ns.Init(incarnation, req)\n\t}\n\treason := ns.loss(now, incarnation, req.Pool)", "a namespace that was never opened is in quarantine first"},
	{"rules/loss.go", `bool { return s.HasLease }`, `bool { return true }`, "the loss of a slot is seen by acquire"},
	{"rules/loss.go", `bool { return s.HasMark }`, `bool { return true }`, "the loss of a mark is seen by acquire"},
	{"rules/loss.go", `seen = append(seen, "the record of the namespace was missing")`, ``, "the loss of the record of the namespace is seen by acquire"},
	{"rules/verbs.go", "ns, err := ns.look(now, incarnation, g.Request)\n\tif err != nil {\n\t\treturn ns, lease.Grant{}, err", "err := ns.mismatch(g.Request)\n\tif err != nil {\n\t\treturn ns, lease.Grant{}, err", "the loss of a mark is seen by renew"},
	{"rules/verbs.go", "ns, err := ns.look(now, incarnation, g.Request)\n\tif err != nil {\n\t\treturn ns, err", "err := ns.mismatch(g.Request)\n\tif err != nil {\n\t\treturn ns, err", "the loss of a slot is seen by release"},
	{"rules/loss.go", `ns.Meta.Incarnation != incarnation`, `false`, "another incarnation is seen by every verb"},
	{"rules/loss.go", `if ns.reincarnated(incarnation) {` + "\n\t\tns.Meta.Former, ns.Meta.Incarnation = ns.Meta.Incarnation, incarnation", `if false {`, "another incarnation is seen by every verb"},
	{"rules/loss.go", `incarnation == ns.Meta.Former && ns.quarantined(now)`, `false`, "an incarnation that flips is named"},
	{"rules/loss.go", `now + ms(req.MaxTTL) + ms(req.Skew)`, `now + ms(req.TTL) + ms(req.Skew)`, "a quarantine lasts as long as the longest lease"},
	{"rules/loss.go", `now + ms(req.MaxTTL) + ms(req.Skew)`, `now + ms(req.MaxTTL)`, "a quarantine lasts as long as the longest lease"},
	{"rules/loss.go", `{ return ns.Meta.Quarantine >= now }`, `{ return false }`, "a quarantine ends, and what is lent then lies above it"},
	{"rules/loss.go", `{ return ns.Meta.Quarantine >= now }`, `{ return ns.Meta.Quarantine != 0 }`, "a quarantine ends, and what is lent then lies above it"},
	{"rules/loss.go", `max(ns.Meta.Quarantine, quarantineEnd(now, req)), reason`, `cmp.Or(ns.Meta.Quarantine, quarantineEnd(now, req)), reason`, "a second loss prolongs the quarantine"},
	{"rules/loss.go", `return ns.whole(req.Pool), nil`, `return ns, nil`, "the loss of a mark is seen by acquire"},
	{"rules/verbs.go", "if ns.quarantined(now) {\n\t\treturn ns, lease.Grant{}, ns.quarantineError(now, req)\n\t}", "", "a quarantine ends, and what is lent then lies above it"},
	{"rules/verbs.go", `case !ns.quarantined(now) || !ahead(now, g):`, `case ns.quarantined(now):`, "after a wipe live holders re-take their worker ids"},
	{"rules/rules.go", `g.Ceiling > now+ms(g.Skew)`, `true`, "after a wipe live holders re-take their worker ids"},
	{"rules/rules.go", `g.Ceiling > now+ms(g.Skew)`, `g.Ceiling > now`, "a grant that is about to expire is lost"},
	{"rules/rules.go", `func retakeable(s Slot, now int64) bool { return s.Expires < now }`, `func retakeable(s Slot, now int64) bool { return true }`, "after a wipe a worker id is re-taken once"},
	{"rules/rules.go", `func retakeable(s Slot, now int64) bool { return s.Expires < now }`, `func retakeable(s Slot, now int64) bool { return true }`, "after a failover a stale record that runs is waited for"},
	{"rules/verbs.go", `return ns, lease.Grant{}, ns.quarantineError(now, g.Request)`, `return ns, lease.Grant{}, lease.ErrLost`, "after a failover a stale record that runs is waited for"},
	{"rules/verbs.go", `g.Token = nextToken(now, max(s.Token, g.Token))`, ``, "after a wipe live holders re-take their worker ids"},
	{"rules/verbs.go", `g.Token = nextToken(now, max(s.Token, g.Token))`, `g.Token, g.Floor = nextToken(now, max(s.Token, g.Token)), now-1`, "after a wipe live holders re-take their worker ids"},
	{"rules/rules.go", `s.Expires >= now+ms(g.Skew)`, `true`, "after a failover a former owner cannot renew"},
}

// TestContractHasTeeth runs the contract against memcenter without one rule at a
// time: each must break the promise that it is there for.
func TestContractHasTeeth(t *testing.T) {
	if os.Getenv("CI") != "true" && os.Getenv("SNOWLEASE_TEST_MUTATIONS") == "" {
		t.Skipf("left out: it builds %d test binaries, about a second each; set SNOWLEASE_TEST_MUTATIONS=1", len(mutations))
	}
	t.Parallel()
	internal, err := filepath.Abs("..")
	require.NoError(t, err)
	for _, m := range mutations {
		t.Run(m.killer+"/"+m.instead, func(t *testing.T) {
			file := filepath.Join(internal, m.file)
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(string(source), m.rule), "the rule %q stands in %s once", m.rule, m.file)
			name := strings.ReplaceAll(m.killer, " ", "_")
			out := mutant(t, file, strings.Replace(string(source), m.rule, m.instead, 1), name)
			if !strings.Contains(out, "--- FAIL: TestContract/lease/"+name+" ") {
				t.Errorf("the contract does not see that %q is now %q:\n%s", m.rule, m.instead, out)
			}
		})
	}
}

// mutant runs one promise of the contract with source in place of a file.
func mutant(t *testing.T, file, source, name string) string {
	t.Helper()
	dir := t.TempDir()
	for pkg, used := range map[string]string{"cmp": "cmp.", "strings": "strings."} {
		if strings.Contains(source, used) && !strings.Contains(source, "\t\""+pkg+"\"\n") {
			source = strings.Replace(source, "import (", "import (\n\t\""+pkg+"\"", 1)
		}
	}
	replacement := filepath.Join(dir, "mutant.go")
	require.NoError(t, os.WriteFile(replacement, []byte(source), 0o600))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: replacement}})
	require.NoError(t, err)
	list := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(list, overlay, 0o600))
	run := exec.CommandContext(t.Context(), "go", "test", "-overlay", list, "-vet=off", "-timeout=20s", "-count=1",
		"-run=^TestContract$/^lease$/^"+regexp.QuoteMeta(name)+"$", ".")
	out, _ := run.CombinedOutput() // a failure is what is hoped for
	return string(out)
}
