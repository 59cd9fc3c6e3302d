package mutation_test

const (
	splitGo    = "internal/engine/parts.go"
	partsGo    = "internal/rules/record.go"
	operatorGo = "internal/rules/operator.go"
)

// onParts is what keeps a namespace in parts, as the center on etcd does.
var onParts = list{title: "parts", pkg: "internal/engine", killers: "Test", mutants: []mutant{
	{"the record of the namespace is not compared", splitGo, `compared, changed = map[string]string{rules.MetaPart: was[rules.MetaPart]}, map[string]string{}`, `compared, changed = map[string]string{}, map[string]string{}`, "PartsMetaChanges"},
	{"a worker id that is lent is not compared", splitGo, `compared[name], changed[name] = was[name], value`, `changed[name] = value`, "PartsLostRace"},
	{"a lost part that was made whole is not written", splitGo, `!ok && slot.HasMark && was[name] != ""`, `!ok && slot.HasMark && false`, "PartsAreMadeWhole"},
	{"what an operator does makes lost parts whole", splitGo, `!ok && slot.HasMark && was[name] != ""`, `!ok && (slot.HasMark || true) && was[name] != ""`, "PartsLossOutlastsAnOperator"},
	{"a part without a mark is written as lost altogether", partsGo, `if s == (Slot{}) {`, `if !s.HasLease || !s.HasMark {`, "PartsLossOutlastsAnOperator"},
	{"a borrow on another server counts", splitGo, `incarnation != before.Incarnation {`, `false {`, "PartsBorrowAcrossARestore"},
	{"what is not there is created in one step", "internal/engine/center.go", `announce := before.Meta == rules.Meta{}`, `announce := false`, "PartsFirstCallPauses"},
	{"Init creates what is not there in one step", "internal/engine/center.go", `announce := before.Meta == rules.Meta{}`, `announce := before.Meta == rules.Meta{} && want.Verb != "init"`, "PartsInitBesideAPartialLoss"},
	{"all announcements are alike", "internal/rules/state.go", `fmt.Sprintf("being created: %x", nonce)`, `fmt.Sprintf("being created: %x", [16]byte{})`, "PartsFirstCallPauses"},
	{"Init opens what is being created", "internal/rules/verbs.go", `if !ns.Empty() || ns.Meta.Reason != "" {`, `if !ns.Empty() {`, "PartsInitBesideAFirstCall"},
	{"a namespace that Init created is like the one before it", "internal/engine/center.go", `fmt.Sprintf("created: %x", req.Owner)`, `fmt.Sprint(len(req.Owner))`, "PartsBorrowAcrossTwoInits"},
	{"a borrow that wrote to another server is repeated", "internal/rules/verbs.go", `again && g.Floor < ns.Meta.Quarantine {`, `false {`, "PartsBorrowAboveAForgottenGrant"},
	{"a renewal on another server counts", splitGo, `if err != nil || incarnation != k.incarnation {`, `if err != nil || incarnation == "" {`, "PartsRenewalOnAnotherServer"},
	{"a renewal does not compare the record of the namespace", splitGo, `map[string]string{rules.MetaPart: k.meta, name: k.slot}, map[string]string{name: parts[name]})`, `map[string]string{name: k.slot}, map[string]string{name: parts[name]})`, "PartsRenewalAfterMetaChanges"},
	{"a renewal does not compare its own record", splitGo, `map[string]string{rules.MetaPart: k.meta, name: k.slot}, map[string]string{name: parts[name]})`, `map[string]string{rules.MetaPart: k.meta}, map[string]string{name: parts[name]})`, "PartsRenewalAfterARestore"},
	{"a renewal ignores that its context has ended", splitGo, ` || ctx.Err() != nil {`, ` {`, "ContractOfParts/lease/a call fails when its context has ended"},
	{"a part that was lost is not created again", "internal/rules/loss.go", `s.Token = ns.Meta.Quarantine`, `s.Token = 0`, "ContractOfParts/lease/what was lost shows the pin when it is created again"},
	{"a revoked worker id hides a loss", operatorGo, `!s.HasLease || !s.HasMark ||`, ``, "OperatorOfParts/operator/nothing that is revoked or retired hides a loss"},
	{"no part shows that the namespace is retired", splitGo, ` || after.Shape != before.Shape)`, `)`, "OperatorOfParts/operator/a retired namespace lends nothing and says why"},
	{"a missing part counts as never lent", partsGo, `|| m.Lent[w/8]>>(w%8)&1 == 0`, `|| true`, "ContractOfParts/lease/the loss of a slot is seen by acquire"},
	{"a revoked worker id is free at once", operatorGo, `Expires: min(s.Expires, freed(now)), Mark: s.Mark, Hold: s.Hold, Used: s.Used}`, `Expires: min(s.Expires, freed(now)), Mark: now, Hold: s.Hold, Used: s.Used}`, "OperatorOfParts/operator/a revoked worker id is not lent before its mark has passed"},
	{"a revoked worker id can be renewed", operatorGo, `Token: s.Token, Expires: min(s.Expires, freed(now)), Mark: s.Mark, Hold: s.Hold, Used: s.Used}`, `Owner: s.Owner, Token: s.Token, Expires: s.Expires, Mark: s.Mark, Hold: s.Hold, Used: s.Used}`, "OperatorOfParts/operator/a revoked worker id is not lent before its mark has passed"},
	{"revoked under any token", operatorGo, ` || s.Token != token {`, ` {`, "OperatorOfParts/operator/Revoke needs the token on record and works once"},
	{"a quarantine by hand without the skew", operatorGo, `max(ns.Meta.Quarantine, QuarantineEnd(now, pin))`, `now+ms(pin.MaxTTL)`, "OperatorOfParts/operator/a quarantine by hand lasts, and holders continue above it"},
	{"a loss is hidden by who retires the namespace", operatorGo, `case req.Pool > 0 && ns.loss(now, incarnation, req.Pool) != "":`, `case false:`, "OperatorOfParts/operator/nothing that is revoked or retired hides a loss"},
	{"another reason for a namespace that is retired", operatorGo, `case ns.Meta.Pin.Retired:`, `case false:`, "OperatorOfParts/operator/a retired namespace lends nothing and says why"},
}}

// onRecord is what keeps a namespace in one record.
var onRecord = list{title: "one record", pkg: "casstore", killers: "Test", mutants: []mutant{
	{"a borrow on another server counts", "casstore/casstore.go", `incarnation != before.Incarnation {`, `incarnation == "none" {`, "BorrowAcrossAFailover"},
}}
