package mutation_test

const (
	takeGo  = "internal/takeover/take.go"
	apartGo = "internal/takeover/apart.go"
)

// onTakeover is what lets worker ids change sides.
var onTakeover = list{title: "takeover", pkg: "internal/takeover", mutants: []mutant{
	{"the old namespace lends on", takeGo, `r.Retired, err = true, old.operator().Retire(ctx, old.Request.Namespace, next.reason())`, `r.Retired = true`, "TestTakeRetires"},
	{"a namespace of which a part was taken over is retired", takeGo, `if err == nil && old.whole() {`, `if err == nil {`, "TestTakeRetires"},
	{"new floors below old marks", takeGo, `if g.Floor < r.Mark {`, `if false {`, "TestTake"},
	{"a seal that was lost meanwhile", takeGo, `r.Sealed, err = held.keep(ctx, 0)`, `r.Sealed = held.grants[0].Ceiling`, "TestTakeRefuses/old center lost the seal"},
	{"what is borrowed is not renewed", takeGo, `if _, err := old.keep(ctx, old.pace()); err != nil {`, `if err := ctx.Err(); err != nil {`, "TestSlowTake"},
	{"a process that started before the old side was retired", takeGo, `err = held.outlast(ctx, next, &r)`, `_ = held.outlast`, "TestTakeIsPausedBeforeItRetires"},
	{"a layout whose ids begin below the old ones", takeGo, `err = migrate.Follows(s.Layout, old.Layout, time.UnixMilli(max(g.Floor, r.Mark)+1))`, `_ = migrate.Follows`, "TestTakeRefuses/ids of the new layout below"},
	{"a retired side is taken over like another one that fails", takeGo, `!rec.Pin.Retired`, `rec.Pin.Retired`, "TestTakeIsPausedBeforeItRetires"},
	{"ids of a process that started before the old side was retired are forgotten", takeGo, `last = max(last, slot.Expires, slot.HighWater)`, `_ = slot`, "TestTakeIsPausedBeforeItRetires"},
	{"a loss that others noticed before the old side was retired", takeGo, `if rec.Quarantine > r.Mark {`, `if false {`, "TestTakeIsPausedBeforeItRetires/noticed loss"},
	{"ranges that share bits are apart", apartGo, `if lastA < firstB || lastB < firstA {`, `if lastA/2 < firstB || lastB/2 < firstA {`, "TestApart"},
	{"reserved worker ids are apart", apartGo, `return s.Layout.WithDefaults().Workers() - 1`, `return s.Request.Last`, "TestApart"},
	{"layouts that put the time elsewhere are apart", apartGo, ` || migrate.Below(a) != migrate.Below(b)`, ``, "TestApart"},
}}
