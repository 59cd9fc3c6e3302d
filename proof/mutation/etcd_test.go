package mutation_test

const etcdGo = "etcdseq/store.go"

// onEtcd is what shows that a cluster of etcd has fallen back.
var onEtcd = list{title: "etcd", pkg: "etcdseq", killers: "Test", mutants: []mutant{
	{"a rollback is forgotten when others raise the revision", etcdGo, `at.revision = revisionOfARollback`, ``, "RestoreBelowTheRevisionThatWasSeen"},
	{"a lower revision is in doubt, as an old term", etcdGo, `fallen && !sure && !anyTerm.before(then) {`, `fallen && !sure && anyTerm != then {`, "RestoreBelowTheRevisionThatWasSeen"},
	{"a rollback that a write showed is forgotten", etcdGo, `s.see(namespace, before, now)`, ``, "SwapAfterARestore"},
	{"what was seen of a cluster is forgotten when another one answers", etcdGo, `then := before.latest[now.is.ID]`, `then := map[bool]moment{true: before.latest[now.is.ID]}[before.is.ID == now.is.ID]`, "RestoreAfterAnotherClusterAnswered"},
	{"an old term that is in doubt counts", etcdGo, `fallen && !sure && !anyTerm.before(then) {`, `false && anyTerm.before(then) {`, "OldTermInDoubt"},
	{"a term below the one on record is not seen", etcdGo, `now.is.Term < now.was.Term ||`, `false ||`, "Restore"},
	{"the pauses between connections grow", etcdGo, `s.client.ActiveConnection().ResetConnectBackoff()`, ``, "ConnectsWithEachCall"},
	{"a count of rollbacks that fell is not seen", etcdGo, `a.rollbacks < b.rollbacks ||`, `false ||`, "RestoreTwice"},
	{"keys of another prefix are records", etcdGo, `if !strings.Contains(name, "/") {`, `if true {`, "PrefixBelowANamespace"},
}}
