# CI=true makes a test server that is missing a failure instead of a skip.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

FUZZTIME ?= 10s
FUZZ ?= ^Fuzz
TESTTIME ?= 20m
CHAOSTIME ?= 10m
SEED ?= 0
LOSSES ?= 1
SEEDS ?= 100000
STORES ?= redis mysql postgres local numbers
PLATFORMS ?= linux/386 linux/arm linux/arm64 darwin/arm64 windows/amd64 freebsd/amd64

# Modules of their own, so that what they compare or test with stays out of go.mod.
modules := $(dir $(wildcard */go.mod */*/go.mod */*/*/go.mod))
in_modules = for module in $(modules); do echo "-- $$module"; (cd $$module && $(1)); done

.PHONY: help
help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

.PHONY: build
build: ## compile all packages, and the programs into bin/
	go build ./...
	go build -o bin/ ./cmd/...

.PHONY: lint
lint: ## vet, golangci-lint, gofmt, go mod tidy, what packages link, types on other platforms
	go vet ./...
	scripts/golangci-lint.sh run --allow-parallel-runners
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:" $$unformatted; exit 1; fi
	go mod tidy -diff
	scripts/check-imports.sh
	go run ./internal/test/platforms $(PLATFORMS)
	@$(call in_modules,go vet ./... && go mod tidy -diff)

.PHONY: test-deps
test-deps: ## install the servers the tests start, where that is allowed
	scripts/test-deps.sh

.PHONY: test
test: test-deps ## run every test with the race detector
	@# -count=1: the servers are no part of what go caches results by.
	go test -race -count=1 -p 2 -timeout $(TESTTIME) ./...
	@# Not where time is simulated, which moves when everything stands still, nor for
	@# 48 processes at a time: the race detector makes them ten times as slow.
	@$(call in_modules,go test $$([[ $$module = internal/proof/@(simulate|chaos)/ ]] || echo -race) -count=1 -timeout $(TESTTIME) ./...)

.PHONY: cover
cover: test-deps ## run every test and show the coverage: cover.out
	go test -p 2 -timeout $(TESTTIME) -coverpkg=./... -coverprofile=cover.out ./...
	go tool cover -func=cover.out | tail -n 1

.PHONY: bench
bench: ## measure everything beside its peers, about ten minutes: docs/performance.md
	cd bench && go run ./cmd/performance -out ../docs

.PHONY: chaos
chaos: test-deps ## faults on real servers, CHAOSTIME for each store, about five times that, LOSSES times as many losses
	cd internal/proof/chaos && for store in $(STORES); do \
		go test -count=1 -v -timeout 0 -run "TestChaos/$$store$$" . -chaos.duration=$(CHAOSTIME) -chaos.seed=$(SEED) -chaos.losses=$(LOSSES) -chaos.report="$$PWD/chaos-$$store.md"; \
	done

.PHONY: soak
soak: ## simulate 100,000 seeds, about half an hour; goes on where it was stopped
	cd internal/proof/simulate && go test -tags soak -count=1 -timeout 0 -v -run 'TestSoak$$' . -soak.seeds=$(SEEDS)

.PHONY: fuzz
fuzz: ## fuzz each target, or those that FUZZ matches, for FUZZTIME
	scripts/fuzz.sh $(FUZZTIME) '$(FUZZ)'

.PHONY: tidy
tidy: ## go mod tidy and formatting
	go mod tidy
	@$(call in_modules,go mod tidy)
	scripts/golangci-lint.sh fmt

.PHONY: clean
clean: ## remove what was built here
	rm -rf bin .tools cover.out
	find . -name '*.test' -not -path './.git/*' -delete
