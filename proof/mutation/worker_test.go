package mutation_test

const settingsGo = "internal/settings/settings.go"

// onWorker is how a worker of an application uses its parts.
var onWorker = list{title: "worker", pkg: "idworker", mutants: []mutant{
	{"both sides of a move make backdated ids", "idworker/history.go", `case !p.hasReserved:`, `case false:`, "TestPastMovesToAnotherDatabase"},
	{"ids before the center has seen the pool and the clock", historyGo, `func() (int64, error) { return lent(w) }`, `func() (int64, error) { return math.MaxInt64, nil }`, "TestNextIDAt"},
	{"the center is closed before the worker id is given back", "worker.go", "err := w.source.Close()\n\tif w.setup.Free != nil && !w.closed.Swap(true) {\n\t\terr = errors.Join(err, w.setup.Free())\n\t}\n\treturn err", "var err error\n\tif w.setup.Free != nil && !w.closed.Swap(true) {\n\t\terr = w.setup.Free()\n\t}\n\treturn errors.Join(err, w.source.Close())", "TestOwnedCenterIsClosedOnceAndLast"},
	{"the copy of a file lends its worker ids", "dbseq/center.go", `if c.store.File() {`, `if false {`, "TestOpenWithoutFx"},
	{"what is reserved is lent", "config.go", `Last: min(last, pool-1)`, `Last: last`, "TestPastMovesToAnotherDatabase"},
	{"renews without the schedule", "leased.go", `Schedule: cfg.Schedule, `, ``, "TestEveryKeyHasAnEffect/lease.renew"},
	{"renew is not asked for", "idworker/plan.go", `, p.core.Schedule = p.Lease.TTL, p.Lease.MaxTTL, p.Store.Skew, p.schedule`, ` = p.Lease.TTL, p.Lease.MaxTTL, p.Store.Skew`, "TestEveryKeyHasAnEffect/lease.renew"},
	// What each key of the configuration sets.
	{"the namespace is not asked for", "idworker/plan.go", `Namespace: p.Namespace, Layout: p.layout, Workers`, `Namespace: "orders", Layout: p.layout, Workers`, "TestEveryKeyHasAnEffect/namespace"},
	{"the layout is not pinned", "config.go", `Layout: c.Layout.String(),`, `Layout: snowflake.Layout{}.WithDefaults().String(),`, "TestEveryKeyHasAnEffect/layout"},
	{"the holder is not named", "idworker/plan.go", `Holder: p.Holder, ExactTimes`, `ExactTimes`, "TestEveryKeyHasAnEffect/holder"},
	{"what is reserved is in the pool", "idworker/plan.go", `Reserved: p.Reserved,`, ``, "TestEveryKeyHasAnEffect/reserved"},
	{"workers bounds nothing", "idworker/plan.go", `, Workers: p.Workers, `, `, `, "TestEveryKeyHasAnEffect/workers"},
	{"ttl is not asked for", "idworker/plan.go", `= p.Lease.TTL, p.Lease.MaxTTL,`, `= lease.DefaultTTL, p.Lease.MaxTTL,`, "TestEveryKeyHasAnEffect/lease.ttl"},
	{"max_ttl is not asked for", "idworker/plan.go", `= p.Lease.TTL, p.Lease.MaxTTL,`, `= p.Lease.TTL, lease.DefaultTTL,`, "TestEveryKeyHasAnEffect/lease.max_ttl"},
	{"skew is not asked for", "idworker/plan.go", `p.Lease.MaxTTL, p.Store.Skew,`, `p.Lease.MaxTTL, lease.DefaultSkew,`, "TestEveryKeyHasAnEffect/store.skew"},
	{"preset chooses nothing", "idworker/plan.go", `snowflake.Preset(p.Preset)`, `layout.WithDefaults(), nil`, "TestEveryKeyHasAnEffect/preset"},
	{"max_ahead bounds nothing", "leased.go", `generator.WithMaxAhead(cfg.MaxAhead)`, `generator.WithMaxAhead(0 * cfg.MaxAhead)`, "TestEveryKeyHasAnEffect/max_ahead"},
	{"max_ahead is not asked for", "idworker/plan.go", `MaxAhead: p.MaxAhead, Wait`, `Wait`, "TestEveryKeyHasAnEffect/max_ahead"},
	{"max_ahead bounds nothing in mode local", "idworker/clients.go", `hostseq.WithMaxAhead(p.MaxAhead))`, `hostseq.WithMaxAhead(0))`, "TestEveryKeyHasAnEffect/max_ahead#01"},
	{"the layout does not reach the generator", "leased.go", `generator.New(cfg.Layout, `, `generator.New(Config{}.Layout, `, "TestEveryKeyHasAnEffect/business"},
	{"business is in no id", "snowlease.go", `w.For(cfg.Business)`, `w.For(0)`, "TestEveryKeyHasAnEffect/business"},
	{"business is not asked for", "idworker/plan.go", `Business: p.Business, MaxAhead`, `MaxAhead`, "TestEveryKeyHasAnEffect/business"},
	{"a start waits for the default", "idworker/plan.go", `Wait: p.Wait, `, ``, "TestEveryKeyHasAnEffect/wait"},
	{"exact_times is not asked for", "idworker/plan.go", `Holder: p.Holder, ExactTimes: p.Store.ExactTimes,`, `Holder: p.Holder,`, "TestEveryKeyHasAnEffect/store.exact_times"},
	{"a database is compared though durable is set", "idworker/clients.go", `dbseq.WithDurable(p.Store.Durable), `, ``, "TestEveryKeyHasAnEffect/store.durable"},
	{"a Redis is compared though durable is set", "idworker/clients.go", `redisseq.New(client, redisseq.WithDurable(p.Store.Durable),`, `redisseq.New(client,`, "TestEveryKeyHasAnEffect/store.durable#01"},
	{"a Redis waits for no replicas", "idworker/clients.go", `redisseq.WithWaitReplicas(p.Store.WaitReplicas, p.replicaTime())`, `redisseq.WithWaitReplicas(0, p.replicaTime())`, "TestEveryKeyHasAnEffect/store.wait_replicas"},
	{"mode local has its defaults", "idworker/clients.go", `hostseq.New(p.Local, `, `hostseq.New(hostseq.Config{Dir: p.Local.Dir}, `, "TestEveryKeyHasAnEffect/local#01"},
	{"redis-sequence: the namespace is another", "idworker/plan.go", `Namespace: p.Namespace, Layout: p.layout, Worker:`, `Namespace: "orders", Layout: p.layout, Worker:`, "TestEveryKeyHasAnEffect/sequence: namespace"},
	{"redis-sequence: the layout is the default", "idworker/plan.go", `Layout: p.layout, Worker: p.Sequence.Worker`, `Worker: p.Sequence.Worker`, "TestEveryKeyHasAnEffect/sequence: layout"},
	{"redis-sequence: the worker is the default", "idworker/plan.go", `Worker: p.Sequence.Worker, `, ``, "TestEveryKeyHasAnEffect/sequence.worker"},
	{"redis-sequence: prefetch is the default", "idworker/plan.go", `Prefetch: p.Sequence.Prefetch, `, ``, "TestEveryKeyHasAnEffect/sequence.prefetch"},
	{"redis-sequence: max_age is the default", "idworker/plan.go", `MaxAge: p.Sequence.MaxAge,`, ``, "TestMaxAge"},
	{"redis-sequence: max_ahead is the default", "idworker/plan.go", `MaxAhead: p.MaxAhead, Skew`, `Skew`, "TestEveryKeyHasAnEffect/sequence: max_ahead"},
	{"redis-sequence: skew is the default", "idworker/plan.go", `MaxAhead: p.MaxAhead, Skew: p.Store.Skew,`, `MaxAhead: p.MaxAhead,`, "TestEveryKeyHasAnEffect/sequence: store.skew"},
	{"redis-sequence: exact_times is not asked for", "idworker/plan.go", `Skew: p.Store.Skew, ExactTimes: p.Store.ExactTimes,`, `Skew: p.Store.Skew,`, "TestEveryKeyHasAnEffect/sequence: store.exact_times"},
	{"redis-sequence: the server is not compared", "idworker/counted.go", `redisseq.WithDurable(p.Store.Durable)`, `redisseq.WithDurable(true)`, "TestEveryKeyHasAnEffect/sequence: store.durable"},
	{"redis-sequence: waits for no replicas", "idworker/counted.go", `redisseq.WithWaitReplicas(p.Store.WaitReplicas, p.replicaTime())`, `redisseq.WithWaitReplicas(0, p.replicaTime())`, "TestEveryKeyHasAnEffect/sequence: store.wait_replicas"},
	{"shutdown_on_loss ends nothing", "idworker/idworker.go", `p.Lease.ShutdownOnLoss {
		cfg`, `false {
		cfg`, "TestShutdownOnLoss"},
	{"table_prefix names no table", "idworker/clients.go", `, dbseq.WithTablePrefix(p.Store.TablePrefix)`, ``, "TestTablePrefix"},
}}

// onDoor is what each field of a Config of package snowlease sets.
var onDoor = list{title: "front door", pkg: ".", mutants: []mutant{
	{"the namespace is another", "config.go", `Namespace: c.Namespace, Layout`, `Namespace: "orders", Layout`, "TestEveryFieldHasAnEffect/Namespace"},
	{"the holder is not named", "config.go", `Holder: c.Holder, Owner`, `Holder: "worker", Owner`, "TestEveryFieldHasAnEffect/Holder"},
	{"what is reserved is in the pool", "config.go", `Pool: pool, First`, `Pool: c.Layout.Workers(), First`, "TestEveryFieldHasAnEffect/Reserved"},
	{"Workers bounds nothing", "config.go", `First: first, Last`, `First: 0 * first, Last`, "TestEveryFieldHasAnEffect/Workers"},
	{"a range that leaves the layout", settingsGo, ` || last > top`, ``, "TestRangeOfWorkers"},
	{"a range that begins above the pool", settingsGo, ` || first >= pool`, ``, "TestRangeOfWorkers"},
	{"a range of some reserved worker ids", settingsGo, `!bad && last >= pool && last < top`, `false`, "TestRangeOfWorkers"},
	{"TTL is not asked for", "config.go", `TTL: c.TTL, MaxTTL`, `TTL: lease.DefaultTTL, MaxTTL`, "TestEveryFieldHasAnEffect/TTL"},
	{"MaxTTL is not asked for", "config.go", `MaxTTL: c.MaxTTL, Skew`, `MaxTTL: c.TTL, Skew`, "TestEveryFieldHasAnEffect/MaxTTL"},
	{"Skew is not asked for", "config.go", `Skew: c.Skew,`, `Skew: lease.DefaultSkew,`, "TestEveryFieldHasAnEffect/Skew"},
	{"a range that a renewal prolongs is shared out", boundsGo, `g.Ceiling - max(g.TTL, g.Pinned.Used()).Milliseconds()`, `g.Ceiling - g.TTL.Milliseconds()`, "TestFullRate/a_long_max_ttl"},
	{"a lease ends TTL above where it begins", boundsGo, `g.TTL = min(g.TTL+max(0, ahead)`, `_ = min(g.TTL+max(0, ahead)`, "TestFullRate/a_long_max_ttl"},
	{"a lease ends MaxTTL above where it begins, whatever others have", boundsGo, "max(g.TTL, g.Pinned.Used()))\n\tg.MaxTTL", "max(g.TTL, g.MaxTTL))\n\tg.MaxTTL", "TestFullRate/the_long_max_ttl_of_another"},
	{"nobody renews on demand", "internal/keeper/loop.go", `, k.cfg.Generator.Wanted()`, `, nil`, "TestFullRate/first_start"},
	{"ExactTimes is not asked for", "leased.go", `ExactTimes: cfg.ExactTimes, `, ``, "TestEveryFieldHasAnEffect/ExactTimes"},
	{"a start waits for the default", "leased.go", `, Wait: cfg.Wait,`, `,`, "TestEveryFieldHasAnEffect/Wait"},
	{"OnLost is not called", "leased.go", `OnLost: cfg.OnLost, `, ``, "TestEveryFieldHasAnEffect/OnLost"},
	{"nothing is logged", "leased.go", `, Logger: cfg.Logger,`, `,`, "TestEveryFieldHasAnEffect/Logger"},
	{"a copy of a host borrows from it", "leased.go", `if l.center.Uniqueness != "" {`, `if false {`, "TestResetOfAHostsCenter"},
}}
