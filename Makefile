# With CI=true, tests that miss a server fail instead of being skipped.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Modules with a go.work refuse -mod=mod.
export GOFLAGS := $(filter-out -mod=%,$(shell go env GOFLAGS))
# Debugging information takes a sixth of the compiler's CPU time. Collecting the garbage of small
# heaps takes another sixth, and a sixth of that of models.
lint test prove prove-deps: export GOFLAGS += -gcflags=all=-dwarf=false
lint test prove prove-deps: export GOGC ?= 400

FUZZTIME ?= 10s
FUZZ ?= ^Fuzz
export TESTTIME ?= 20m
CHAOSTIME ?= 10m
SEED ?= 0
OLD ?=
LOSSES ?= 1
SEEDS ?= 5000
BASE ?= /
ATTACK ?=
STORES ?= redis mariadb mysql galera postgres etcd local numbers
# Linters that read all dependencies, for minutes if nothing is cached. Other modules than the library go without.
SLOW ?= bodyclose,contextcheck,govet,rowserrcheck,sqlclosecheck,staticcheck,unparam
ENGINES ?= mysql mariadb galera postgresql sqlite redis valkey
# No file is for one architecture alone, so one of 32 bits suffices.
PLATFORMS ?= linux/386 darwin/arm64 windows/amd64 freebsd/amd64

# The other modules keep the dependencies of benchmarks and tests out of go.mod.
modules := $(dir $(wildcard */go.mod */*/go.mod */*/*/go.mod))
in_modules = printf '%s\n' $(modules) | xargs -P 2 -I{} bash -c 'out=$$(cd {} && $(1) 2>&1); status=$$?; echo "-- {}"; echo "$$out"; exit $$status'

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

.PHONY: build
build: ## compile all packages, and the programs into bin/
	go build ./...
	go build -o bin/ ./cmd/...

.PHONY: lint
lint: ## golangci-lint (with SLOW= in full in all modules), gofmt, subjects of commits, go mod tidy, versions, imports, the API, workflows, types on other platforms
	scripts/golangci-lint.sh run --allow-parallel-runners
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:" $$unformatted; exit 1; fi
	@git log --no-merges --invert-grep --grep=dependabot --since='2026-11-28 18:00 UTC' --format=%s | awk '!/^[A-Za-z0-9][A-Za-z0-9., \/-]*: ./ || length > 72 { print "commit subject, not \"room: what it does\" in 72 characters: " $$0; bad = 1 } END { exit bad }'
	scripts/tidy.sh -diff
	scripts/version.sh
	scripts/check-imports.sh
	scripts/apidiff.sh
	scripts/actionlint.sh
	go run ./internal/test/platforms $(PLATFORMS)
	@$(call in_modules,$(CURDIR)/scripts/golangci-lint.sh run --allow-parallel-runners $(if $(SLOW),--disable $(SLOW)))

.PHONY: test-deps
test-deps: ## install the servers that make test starts (as root on Debian or Ubuntu)
	scripts/test-deps.sh

.PHONY: prove-deps
prove-deps: ## install all servers and programs that tests start
	scripts/test-deps.sh prove

.PHONY: test
test: test-deps ## run the library's tests, with a MariaDB, PostgreSQL and Redis, in some minutes
	scripts/stages.sh test

.PHONY: prove
prove: prove-deps ## run all other tests: modules, MySQL, failovers, mutants, models, chaos
	scripts/stages.sh prove

.PHONY: newest
newest: ## run make test and make prove with the newest version of every direct dependency
	scripts/newest.sh

.PHONY: cover
cover: prove-deps ## run every test, write cover.out and show the total coverage
	go test -p 2 -timeout $(TESTTIME) -coverpkg=./... -coverprofile=cover.out ./...
	go tool cover -func=cover.out | tail -n 1

.PHONY: bench
bench: prove-deps ## compare with other generators and update docs/design/performance.md (ten minutes)
	cd bench && go run ./cmd/performance -out ../docs/design

.PHONY: gorm-suite
gorm-suite: prove-deps ## run GORM's own tests with the plugin, from the checkout GORM_SUITE
	GORM_SUITE='$(abspath $(GORM_SUITE))' go test -tags gormsuite -count=1 -timeout 60m -v ./internal/test/gormsuite

.PHONY: chaos
chaos: prove-deps ## inject faults into real servers, CHAOSTIME per store, with LOSSES times as many losses; every second process runs the commit OLD
	old=$$(scripts/chaos-old.sh $(OLD)); cd proof/chaos && for store in $(STORES); do \
		go test -count=1 -v -timeout 0 -run "TestChaos/$$store$$" . -chaos.duration=$(CHAOSTIME) -chaos.seed=$(SEED) -chaos.losses=$(LOSSES) -chaos.old="$$old" -chaos.report="$$PWD/chaos-$$store.md"; \
	done

.PHONY: attack
attack: ## harm processes and records, by default on SQLite, and look for duplicate ids: ATTACK="-for 10m -redis redis://..."
	go run ./examples/attack $(ATTACK)

.PHONY: engines
engines: prove-deps ## run the tests on each version of ENGINES and update docs/design/proof.md (half an hour)
	go run ./internal/test/engines $(ENGINES)

.PHONY: soak
soak: ## simulate SEEDS seeds on each store (half an hour)
	cd proof/simulate && go test -count=1 -timeout 0 -v -run 'TestSeeds|TestCalm' . -args -count $(SEEDS)

.PHONY: fuzz
fuzz: ## run each fuzz test that FUZZ matches for FUZZTIME
	scripts/fuzz.sh $(FUZZTIME) '$(FUZZ)'

.PHONY: release-check
release-check: ## rehearse a release and print what it would publish, some minutes
	scripts/release-check.sh

.PHONY: tidy
tidy: ## run go mod tidy and format the code
	scripts/tidy.sh
	scripts/golangci-lint.sh fmt

.PHONY: site
site: ## build the documentation as a web site in site/.vitepress/dist (needs Node 20)
	cd site && npm ci && npm run build -- --base '$(BASE)'

.PHONY: clean
clean: ## remove build products
	rm -rf bin dist .tools cover.out site/node_modules site/.vitepress/{cache,dist,.temp}
	find . -name '*.test' -not -path './.git/*' -delete
