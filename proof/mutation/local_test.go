package mutation_test

const (
	localGo = "hostseq/center.go"
	slotsGo = "hostseq/slots.go"
	unixGo  = "hostseq/system_unix.go"
)

// onLocal is what makes the worker ids of a host unique: the lock, and the record of
// what was used.
var onLocal = list{title: "local", pkg: "hostseq", mutants: []mutant{
	{"a record that is not on disk", slotsGo, `err = f.Sync()`, `err = nil`, "TestRecordIsSynced"},
	// The record.
	{"the last token is lent", "hostseq/record.go", `>= maxNumber:`, `> maxNumber:`, "TestDamagedRecord"},
	{"the ceiling is not on record before it is used", localGo, "l.save(l.Ceiling); err != nil {\n", "l.save(l.Floor); err != nil {\n", "TestGrant"},
	{"a renewal's ceiling is not on record", localGo, `if err := l.save(ceiling); err != nil {`, `if err := l.save(l.Ceiling); err != nil {`, "TestGrant"},
	{"a renewal that could not be recorded counts", localGo, "if err := l.save(ceiling); err != nil {\n\t\treturn lease.Grant{}, err\n\t}", "_ = l.save(ceiling)", "TestWriteFails"},
	{"no floor at the record", localGo, `max(r.Mark, now-1)`, `now-1`, "TestCrashedSlotIsTheLastToBeTaken"},
	{"a clock far behind the record is followed", localGo, `r.Mark-now > bound {`, `false {`, "TestClockBehind"},
	{"a clock far behind is measured without the bound", localGo, `(req.MaxTTL + c.maxBehind).Milliseconds()`, `req.MaxTTL.Milliseconds()`, "TestClockBehind"},
	{"a worker id without a record begins at the clock", localGo, `if r.Token == 0 && c.dir != "" {`, `if false {`, "TestGrant"},
	{"without records, ids begin at once", localGo, `} else if err := c.outlast(req); err != nil {`, `} else if err := error(nil); err != nil {`, "TestStatelessAfterABurst"},
	{"without records, a process forgets what it has used itself", localGo, `c.until = max(c.until, mark+1)`, ``, "TestStateless"},
	{"a renewal lowers the ceiling", localGo, `ceiling := max(l.Ceiling, l.Now+g.TTL.Milliseconds())`, `ceiling := l.Now + g.TTL.Milliseconds()`, "TestGrant"},
	{"a ceiling from a clock that is behind the record", localGo, `max(now, l.Floor) + req.TTL`, `now + req.TTL`, "TestCrashedSlotIsTheLastToBeTaken"},
	{"the last use is not held above the floor", localGo, `max(l.Floor, min(lastUsed, l.Ceiling))`, `min(lastUsed, l.Ceiling)`, "TestReleaseKeepsTheMarkWithinTheGrant"},
	{"the last use is not held below the ceiling", localGo, `max(l.Floor, min(lastUsed, l.Ceiling))`, `max(l.Floor, lastUsed)`, "TestReleaseKeepsTheMarkWithinTheGrant"},
	{"a damaged record is taken", slotsGo, `case damage != nil:`, `case false:`, "TestDamagedRecord"},
	{"a checksum that is not compared", "hostseq/record.go", `sum(body) != binary.BigEndian.Uint32(b[len(body):])`, `false`, "TestRecordDamage"},
	{"no pin", slotsGo, `_, ok := was.Join(req); !ok`, `was.Retired`, "TestPin"},
	{"another host's worker ids are lent", localGo, `slot{req.First + (begin+i)%n,`, `slot{(begin + i) % req.Pool,`, "TestHostsWithRanges"},
	{"a worker id set by hand beyond the range is lent", localGo, `if c.source == Explicit && (`, `if false && (`, "TestExplicitOutOfRange"},
	// The directory and its files.
	{"a file with a second name is taken", slotsGo, `case linked(info):`, `case false:`, "TestWhatIsNoFileOfOurs"},
	{"the second name that a crash left stays", slotsGo, `d.removeNew(f)`, ``, "TestFileThatIsBeingMade"},
	{"a directory is made before its way is looked at", slotsGo, `path, err := resolve(string(d))`, "_ = os.MkdirAll(string(d), 0o700)\n\tpath, err := resolve(string(d))", "TestDirectoryThatOthersCanRedirect"},
	{"a directory on the way that a group can write to", unixGo, `&& !own`, `&& !own && false`, "TestDirectoryThatOthersCanRedirect"},
	{"a common group makes another user's directory on the way one's own", unixGo, `if uid := int(info.Sys().(*syscall.Stat_t).Uid); uid`, `if uid := int(info.Sys().(*syscall.Stat_t).Uid); int(info.Sys().(*syscall.Stat_t).Gid) != os.Getegid() && uid`, "TestOwners"},
	{"another user's directory on the way", unixGo, `if shared || !last {`, `if shared && last {`, "TestDirectoryByWayOfAnother"},
	{"another user's directory in a sticky one", unixGo, `if shared || !last {`, `if !last || shared && false {`, "TestDirectoryByWayOfAnother"},
	// The lock.
	{"a lock that another has is no hindrance", slotsGo, `case !locked:`, `case !locked && worker < 0:`, "TestHeld"},
	{"the lock on a file that was replaced counts", slotsGo, `case !d.same(f, path):`, `case false:`, "TestFileReplacedWhileOpened"},
	{"a holder whose file was taken away goes on", localGo, `if l.file == nil || c.dir.same(`, `if true || c.dir.same(`, "TestFilesTakenAway"},
	{"lent twice within a process that keeps no records", localGo, `if l.Worker == w && l.Namespace == req.Namespace {`, `if false {`, "TestHeld"},
	{"renewal and release are not fenced by the token", localGo, `|| l.Token != g.Token ||`, `||`, "TestFenced"},
	{"renewal and release are not fenced by the worker id", localGo, `|| l.Worker != g.Worker ||`, `||`, "TestFenced"},
	{"the lock is kept after it was given back", localGo, "\tc.letGo(l)\n\treturn nil\n", "\tdelete(c.held, holderOf(l.Request))\n\treturn nil\n", "TestHeld"},
}}
