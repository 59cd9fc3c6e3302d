package mutation_test

// What follows was picked by a program among all conditions, comparisons, errors, calls,
// numbers and texts of these packages.

var onCLI = list{title: "cli", pkg: "cmd/internal/cli", mutants: []mutant{
	{"cli.go: a condition negated in Run", "cmd/internal/cli/cli.go", `if strings.HasPrefix(text, "bad flag syntax") {`, `if !(strings.HasPrefix(text, "bad flag syntax")) {`, "TestNoPasswordIsPrinted"},
	{"config_file.go: a call dropped in parseConfig", "cmd/internal/cli/config_file.go", `decoder.KnownFields(true)`, ``, "TestConfigCheck"},
	{"ids are printed with any worker id", "cmd/internal/cli/ids_next.go", `cmp.Or(cfg.Workers, app.Workers)`, `cfg.Workers`, "TestConfigOfTheApplication"},
	{"a segment is created in the namespace of the ids", "cmd/internal/cli/numbers_segment.go", `cmp.Or(own[n.name], own`, `cmp.Or("", own`, "TestConfigOfTheApplication"},
	{"a series is set in the namespace of the ids", "cmd/internal/cli/numbers_segment.go", `own[s.Name+"."] = s.Namespace`, `own[s.Name+"."] = ""`, "TestConfigOfTheApplication"},
	{"output.go: a condition negated in input", "cmd/internal/cli/output.go", `if name == "-" {`, `if !(name == "-") {`, "TestModesWithoutWorkerIDs"},
	{"worker_doctor_namespace.go: a number raised in pool", "cmd/internal/cli/worker_doctor_namespace.go", `n := members.Last - members.First + 1`, `n := members.Last - members.First + (1 + 1)`, "TestDoctorOnARangeOfWorkerIDs"},
	{"worker_doctor_namespace.go: a condition negated in workers, 2", "cmd/internal/cli/worker_doctor_namespace.go", `} else if rec.Pin.Err() == nil {`, `} else if !(rec.Pin.Err() == nil) {`, "TestLateTimes/sqlite"},
	{"worker_doctor_namespace.go: a condition negated in workers", "cmd/internal/cli/worker_doctor_namespace.go", `if s.Expires < s.Now && (s.Holder == "" || s.HighWater < s.Now) {`, `if !(s.Expires < s.Now && (s.Holder == "" || s.HighWater < s.Now)) {`, "TestDoctorOnARangeOfWorkerIDs"},
	{"ids_publicid.go: a condition negated in publicIDCommand", "cmd/internal/cli/ids_publicid.go", `if strings.Trim(text, "0123456789") != "" {`, `if !(strings.Trim(text, "0123456789") != "") {`, "TestPublicIDSecrets"},
	{"ids_publicid.go: a condition negated in publicCodec", "cmd/internal/cli/ids_publicid.go", `if file != "" {`, `if !(file != "") {`, "TestPublicIDSecrets"},
	{"ids_publicid.go: a condition negated in publicCodec, 2", "cmd/internal/cli/ids_publicid.go", `if cmp.Or(file, text) != "" {`, `if !(cmp.Or(file, text) != "") {`, "TestPublicIDSecrets"},
	{"flags_request.go: a number raised in register", "cmd/internal/cli/flags_request.go", `flags.DurationVar(&f.skew, "skew", 0, fmt.Sprintf("how far the store's clock may have gone backward when the store loses records (default %v)", lease.DefaultSkew))`, `flags.DurationVar(&f.skew, "skew", (0 + 1), fmt.Sprintf("how far the store's clock may have gone backward when the store loses records (default %v)", lease.DefaultSkew))`, "TestOperations/sqlite"},
	{"flags_request.go: a text changed in complete", "cmd/internal/cli/flags_request.go", `"the flags and the defaults"`, `"the flags and the defaults_"`, "TestOperations/miniredis"},
	{"numbers_segment.go: a text changed in lineOf", "cmd/internal/cli/numbers_segment.go", `if day, err := time.Parse("20060102", strconv.FormatInt(given/seriesPeriod, 10)); series && err == nil {`, `if day, err := time.Parse("20060102_", strconv.FormatInt(given/seriesPeriod, 10)); series && err == nil {`, "TestSegments/sqlite"},
	{"numbers_list.go: a record of a series is a sequence", "cmd/internal/cli/numbers_list.go", `if strings.HasPrefix(name, numberstore.Periods) {`, `if false {`, "TestSegments/sqlite"},
	{"numbers_advance.go: a condition negated in segmentAdvanceCommand", "cmd/internal/cli/numbers_advance.go", `}); err != nil {`, `}); !(err != nil) {`, "TestAdvanceOfABusySeries"},
	{"flags_store.go: an error dropped in complete", "cmd/internal/cli/flags_store.go", `return errors.New("--namespace is empty: give the namespace of the application's configuration, or its file with --config")`, `return nil`, "TestConfigOfTheApplication"},
	{"dsn.go: a password in brackets is a host", "internal/dsn/dsn.go", ` || strings.Contains(host, ":") && net.ParseIP(host) == nil {`, ` {`, "TestNoPasswordIsPrinted"},
	{"worker_workers.go: a bound moved in readWorkers", "cmd/internal/cli/worker_workers.go", `if state == "free" && !all {`, `if state == "free" || !all {`, "TestOperations/miniredis"},
}}

var onCLISQLRedis = list{title: "cli sqlredis", pkg: "cmd/internal/cli/sqlredis", mutants: []mutant{
	{"url.go: a text changed in parseStore", "cmd/internal/cli/sqlredis/url.go", `case isURL && (scheme == "mysql" || scheme == "mariadb"):`, `case isURL && (scheme == "mysql" || scheme == "mariadb_"):`, "TestParseStore"},
}}

var onConsole = list{title: "console", pkg: "console", mutants: []mutant{
	{"console.go: a condition negated in panel", "console/console.go", `if p.worker.Status().Namespace == name {`, `if !(p.worker.Status().Namespace == name) {`, "TestOneWorker"},
	{"console.go: a call dropped in ServeHTTP", "console/console.go", `h.Set("Referrer-Policy", "no-referrer")`, ``, "TestHeadersAndMethods"},
	{"console.go: a call dropped in serveFile", "console/console.go", `http.ServeFileFS(w, r, assets, "assets/"+file)`, ``, "TestHeadersAndMethods"},
	{"format.go: a text changed in joined", "console/format.go", `func joined(text string) string { return units.ReplaceAllString(text, "$1\u00a0$2") }`, `func joined(text string) string { return units.ReplaceAllString(text, "$1\u00a0$2_") }`, "TestOutage"},
	{"history.go: a call dropped in keepSampling", "console/history.go", `c.sample()`, ``, "TestOutage"},
	{"outlook.go: a number raised in waits", "console/outlook.go", `o.Text += fmt.Sprintf("all %s worker ids are lent; the first may be free in %s", thousands(full.Last-full.First+1), seconds(c.left(full.Soonest)))`, `o.Text += fmt.Sprintf("all %s worker ids are lent; the first may be free in %s", thousands(full.Last-full.First+(1 + 1)), seconds(c.left(full.Soonest)))`, "TestOutlook"},
	{"slots.go: a condition negated in newPool", "console/slots.go", `if v.State == mine && st.Ceiling.After(v.Until) {`, `if !(v.State == mine && st.Ceiling.After(v.Until)) {`, "TestRowsOfTheTable"},
	{"status.go: a condition negated in line", "console/status.go", `if st.Floor.After(st.Now) {`, `if !(st.Floor.After(st.Now)) {`, "TestTimeLine"},
}}

var onExamplesAttack = list{title: "attack", pkg: "examples/attack", mutants: []mutant{
	{"main.go: an error dropped in verdict", "examples/attack/main.go", `return fmt.Errorf("%d ids were issued twice", twice)`, `return nil`, "TestPlantedDuplicate"},
}}

var onExamplesCollide = list{title: "collide", pkg: "examples/collide", mutants: []mutant{
	{"main.go: a condition negated in deploy", "examples/collide/main.go", `			id, err := opened[i].NextIDWait(ctx)
			if err != nil {`, `			id, err := opened[i].NextIDWait(ctx)
			if !(err != nil) {`, "TestLeased"},
}}

var onExamplesFxapp = list{title: "fxapp", pkg: "examples/fxapp", mutants: []mutant{
	{"config.go: a call dropped in readFile", "examples/fxapp/config.go", `d.KnownFields(true)`, ``, "TestBadConfig/unknown_keys"},
	{"handlers.go: a text changed in newHandlers", "examples/fxapp/handlers.go", `operators.Handle("GET /{$}", http.RedirectHandler("/idworker/", http.StatusFound))`, `operators.Handle("GET /{$}", http.RedirectHandler("/idworker/_", http.StatusFound))`, "TestCopies/sqlite"},
	{"handlers.go: a condition negated in readyz", "examples/fxapp/handlers.go", `if err := h.healthy(); err != nil {`, `if err := h.healthy(); !(err != nil) {`, "TestNoIDs"},
	{"main.go: a condition negated in wiring", "examples/fxapp/main.go", `if !cfg.Once { // fx`, `if cfg.Once { // fx`, "TestCopies/sqlite"},
	{"orders.go: a bound moved in check", "examples/fxapp/orders.go", `if !printable.MatchString(i.Product) || i.Quantity < 1 || i.Quantity > 10_000 || i.PriceCents < 0 || i.PriceCents > 1e9 {`, `if !printable.MatchString(i.Product) || i.Quantity < 1 || i.Quantity > 10_000 || i.PriceCents < 0 && i.PriceCents > 1e9 {`, "TestBadRequests"},
	{"orders.go: a bound moved in check, 2", "examples/fxapp/orders.go", `if !printable.MatchString(i.Product) || i.Quantity < 1 || i.Quantity > 10_000 || i.PriceCents < 0 || i.PriceCents > 1e9 {`, `if !printable.MatchString(i.Product) || i.Quantity < 1 && i.Quantity > 10_000 || i.PriceCents < 0 || i.PriceCents > 1e9 {`, "TestBadRequests"},
}}

var onExamplesOwncenter = list{title: "owncenter", pkg: "examples/owncenter", mutants: []mutant{
	{"center.go: a condition negated in call", "examples/owncenter/center.go", `if err != nil || s < 300 || s == http.StatusNotFound || s == http.StatusConflict || s == http.StatusPreconditionFailed {`, `if !(err != nil || s < 300 || s == http.StatusNotFound || s == http.StatusConflict || s == http.StatusPreconditionFailed) {`, "TestContract/lease"},
	{"main.go: a condition negated in main", "examples/owncenter/main.go", `if err != nil && !errors.Is(err, flag.ErrHelp) {`, `if !(err != nil && !errors.Is(err, flag.ErrHelp)) {`, "TestProcesses"},
	{"main.go: a condition negated in run, 2", "examples/owncenter/main.go", `if err := flags.Parse(args); err != nil {`, `if err := flags.Parse(args); !(err != nil) {`, "TestRunByItself"},
}}

var onExamplesPlain = list{title: "plain", pkg: "examples/plain", mutants: []mutant{
	{"main.go: a condition negated in onRedis", "examples/plain/main.go", `if err == nil {`, `if !(err == nil) {`, "TestErrors"},
}}

var onGormplugin = list{title: "gormplugin", pkg: "gormplugin", mutants: []mutant{
	{"batch.go: a call dropped in takeBack", "gormplugin/batch.go", `delete(row, name)`, `_ = name`, "TestEqualKeysStay"},
	{"check.go: a call dropped in String", "gormplugin/check.go", `line("order: NO, %d keys up to %s do not sort before new ids; they would with an epoch of %d or earlier", r.Ahead, r.Max, r.Epoch)`, ``, "TestCheckTableAheadOfTheClock"},
	{"config.go: a condition negated in Validate", "gormplugin/config.go", `c.Wait < 0, "wait`, `c.Wait >= 0, "wait`, "TestBatchBelongsToItsStatement"},
	{"column.go: a condition negated in columnOf", "gormplugin/column.go", `if c.text && f.Size > 0 {`, `if !(c.text && f.Size > 0) {`, "TestBatchBelongsToItsStatement"},
	{"key.go: a bound moved in limit", "gormplugin/key.go", `case !segment && k.most <= math.MaxUint32:`, `case !segment || k.most <= math.MaxUint32:`, "TestBatchBelongsToItsStatement"},
	{"key.go: a condition negated in classify", "gormplugin/key.go", `if c.text {
		k.size`, `if !c.text {
		k.size`, "TestKeyFaults/short_text"},
	{"key.go: a number raised in fits", "gormplugin/key.go", `most = 19 // ids grow`, `most = (19 + 1) // ids grow`, "TestKeyFaults/short_text"},
	{"key.go: a bound moved in findField", "gormplugin/key.go", `if tag := f.Tag.Get("idworker"); tag != "" && tag != "-" && !f.PrimaryKey {`, `if tag := f.Tag.Get("idworker"); tag != "" && tag != "-" || !f.PrimaryKey {`, "TestBatchBelongsToItsStatement"},
	{"maps.go: an error dropped in fillMaps", "gormplugin/maps.go", `v, err := k.value(b.ids[n])
		if err != nil {
			return err`, `v, err := k.value(b.ids[n])
		if err != nil {
			return nil`, "TestKeyFaults/short_text"},
	{"maps.go: a call dropped in protect", "gormplugin/maps.go", `stmt.Dest = &list`, ``, "TestWays/sqlite/pointer_to_maps_of_an_AUTO_INCREMENT_model,_by_other_names"},
	{"model.go: a condition negated in ModifyStatement", "gormplugin/model.go", `if key == nil || key.HasDefaultValue || key.FieldType.Kind() != reflect.Int64 {`, `if !(key == nil || key.HasDefaultValue || key.FieldType.Kind() != reflect.Int64) {`, "TestModelWithThePlugin"},
	{"plugin.go: an error dropped in Initialize", "gormplugin/plugin.go", `return fmt.Errorf("gormplugin: the source of ids is nil (%T); pass the *snowlease.Worker", p.source)`, `return nil`, "TestUse"},
	{"reserve.go: a condition negated in reserve", "gormplugin/reserve.go", `if err == nil {`, `if !(err == nil) {`, "TestBatchBelongsToItsStatement"},
	{"upsert.go: a number raised in askBack", "gormplugin/upsert.go", `if !other && len(stmt.Schema.FieldsWithDefaultDBValue) == 0 {`, `if !other && len(stmt.Schema.FieldsWithDefaultDBValue) == (0 + 1) {`, "TestWays/sqlite/INSERT_IGNORE"},
}}

var onMetrics = list{title: "metrics", pkg: "metrics", mutants: []mutant{
	{"collector.go: a condition negated in Collect", "metrics/collector.go", `if v, ok := m.value(s); ok {`, `if v, ok := m.value(s); !(ok) {`, "TestDashboardShowsStates"},
	{"measure.go: a text changed in workerMeasures", "metrics/measure.go", `gauge("idworker_pool_size", "Worker ids that this process may borrow. Absent without a pool (mode redis-sequence).",`, `gauge("idworker_pool_size_", "Worker ids that this process may borrow. Absent without a pool (mode redis-sequence).",`, "TestValues"},
	{"measure.go: a bound moved in workerMeasures", "metrics/measure.go", `func(r reading) (float64, bool) { return float64(r.Pool.Last - r.Pool.First + 1), r.Sequence == nil }),`, `func(r reading) (float64, bool) { return float64(r.Pool.Last - r.Pool.First - 1), r.Sequence == nil }),`, "TestScrape"},
	{"measure.go: a number raised in bit", "metrics/measure.go", `	}
	return 0`, `	}
	return (0 + 1)`, "TestTheStoryOfAnOutage"},
	{"pool.go: a condition negated in count, 2", "metrics/pool.go", `if time.Now().Before(p.until) {`, `if !(time.Now().Before(p.until)) {`, "TestUsed"},
	{"pool.go: a condition negated in count", "metrics/pool.go", `if err != nil {`, `if !(err != nil) {`, "TestPoolRetries"},
	{"collector.go: a text changed in NewSegmentCollector", "metrics/collector.go", `"idworker_segment_name", "idworker_segment_store")`, `"idworker_segment_name", "idworker_segment_store_")`, "TestDashboard"},
}}

var onProviders = list{title: "providers", pkg: "providers", mutants: []mutant{
	{"config.go: a condition negated in Validate", "providers/config.go", `if !c.Redis.IsZero() {`, `if !(!c.Redis.IsZero()) {`, "TestConfigValidate"},
	{"mysql.go: a condition negated in open", "providers/internal/mysql/mysql.go", `	probe, err := sql.Open("mysql", c.FormatDSN())
	if err != nil {`, `	probe, err := sql.Open("mysql", c.FormatDSN())
	if !(err != nil) {`, "TestDSN"},
	{"postgres.go: an error dropped in open", "providers/internal/postgres/postgres.go", `return t, errors.New("it cannot be parsed")`, `return t, nil`, "TestPasswordsStayOutOfErrors"},
	{"sqlite.go: a condition negated in open", "providers/internal/sqlite/sqlite.go", `if query != "" {`, `if !(query != "") {`, "TestDSN"},
}}

var onProvidersRedis = list{title: "providers redis", pkg: "providers/redis", mutants: []mutant{
	{"config.go: a number raised in Validate", "providers/redis/config.go", `f.Check(len(c.Addrs) == 0, "addrs is empty: set the host:port of the server, of the nodes of the cluster or of the Sentinels")`, `f.Check(len(c.Addrs) == (0 + 1), "addrs is empty: set the host:port of the server, of the nodes of the cluster or of the Sentinels")`, "TestOpen"},
	{"config.go: a bound moved in Validate, 2", "providers/redis/config.go", `f.Check(c.Master != "" && c.Cluster, "master %q and cluster exclude each other: set master for Sentinel, cluster for a cluster", c.Master)`, `f.Check(c.Master != "" || c.Cluster, "master %q and cluster exclude each other: set master for Sentinel, cluster for a cluster", c.Master)`, "TestKinds"},
	{"redis.go: an error dropped in tlsConfig", "providers/redis/redis.go", `return nil, fmt.Errorf("providers: redis.ca_file: %w", dsn.File(err))`, `return nil, nil`, "TestTLS/miniredis"},
	{"redis.go: a condition negated in ping", "providers/redis/redis.go", `if err == nil {`, `if !(err == nil) {`, "TestOpen"},
}}

var onProvidersSQLDB = list{title: "providers sqlopen", pkg: "providers/internal/sqlopen", mutants: []mutant{
	{"sqlopen.go: a condition negated in open, 2", "providers/internal/sqlopen/sqlopen.go", `	t, err := d.Open(bounded, string(c.DSN), c.ConnectTimeout)
	if err != nil {`, `	t, err := d.Open(bounded, string(c.DSN), c.ConnectTimeout)
	if !(err != nil) {`, "ExampleNew"},
	{"sqlopen.go: a condition negated in choose", "providers/internal/sqlopen/sqlopen.go", `if d.Name == p.Config.Driver {`, `if d.Name != p.Config.Driver {`, "ExampleNew"},
}}

var spread = []list{onCLI, onCLISQLRedis, onConsole, onExamplesAttack, onExamplesCollide, onExamplesFxapp, onExamplesOwncenter, onExamplesPlain, onGormplugin, onMetrics, onProviders, onProvidersRedis, onProvidersSQLDB}
