package mutation_test

const historyGo = "idworker/history/history.go"

// onHistory is ids for times past.
var onHistory = list{title: "times past", pkg: "idworker/history", mutants: []mutant{
	{"worker ids that live processes have", historyGo, `worker := l.Workers() - i.cfg.Reserved + (n-1)/l.PerTick()`, `worker := (n - 1) / l.PerTick()`, "TestIDsForThePast/memory"},
	{"the ids of a second all end alike", historyGo, `Sequence: (n - 1) % l.PerTick()`, `Sequence: 0 * n`, "TestIDsForThePast/memory"},
	{"more ids than a second has", historyGo, `Max: i.PerSpan()`, `Max: 2 * i.PerSpan()`, "TestEveryIDOfASecond"},
	{"each batch begins with the first number", historyGo, `rest[n-r.First] = id`, `rest[0] = id`, "TestIDsForThePast/memory"},
	{"a batch that fails is half there", historyGo, `clear(dst)`, ``, "TestEveryIDOfASecond"},
	{"times to come", historyGo, ` || at.After(now)`, ``, "TestTimesThatAreNoPast"},
	{"times before the epoch", historyGo, `at.UnixMilli() < l.Epoch || `, ``, "TestTimesThatAreNoPast"},
	{"no worker id is reserved", historyGo, `cfg.Reserved < 1 || `, ``, "TestConfigsThatAreWrong"},
}}
