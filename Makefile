# The one entry point. `make help` explains every target.

SHELL := /bin/bash

# Every module of the workspace. Those of the tools and of the measurements stay
# out of it.
MODULES := $(shell go list -m -f '{{.Dir}}' 2>/dev/null)

# The race detector needs a C compiler; without one, tests run without it.
RACE := $(shell [ "$$(go env CGO_ENABLED)" = 1 ] && echo -race)

# Linters are built once for each state of tools/go.sum.
TOOLS := .cache/bin/$(shell cat tools/go.mod tools/go.sum | cksum | cut -d' ' -f1)

# Which of Go's benchmarks run, and how long each fuzz target does.
BENCH ?= .
FUZZTIME ?= 10s

.DEFAULT_GOAL := help

.PHONY: help
help: ## Print this list.
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## Run the service with its defaults: no Redis, the local limiter.
	go run ./app-bootstrap/cmd/weir

.PHONY: run-redis
run-redis: ## Run the service over a throw-away Redis, as examples/redis.yaml says.
	scripts/run-redis

.PHONY: test
test: ## Test every module on every kind of Redis server that this machine can run.
	lanes=$$(scripts/test-servers) && env "$$lanes" go test $(RACE) -count=1 -timeout 10m work
	cd bench && GOWORK=off go test ./...

.PHONY: test-system
test-system: ## Run the tests that need further system packages; installs them as root on Debian.
	scripts/test-system

.PHONY: soak
soak: ## Look for rare faults for long: millions of compared replies, every fault on every server (about an hour).
	scripts/soak

.PHONY: check
check: lint ## Check form, lint, workspace and scripts: everything but tests.
	@files=$$(gofmt -l .); [ -z "$$files" ] || { echo "not formatted, run make fmt: $$files"; exit 1; }
	go vet -tags system work
	@# What builds in a workspace may still lack a requirement of its own.
	@set -e; for module in $(MODULES); do \
	  echo "GOWORK=off go build, vet, mod tidy -diff: $${module##*/}"; cd $$module; \
	  GOWORK=off go build ./...; GOWORK=off go vet -tags system ./...; GOWORK=off go mod tidy -diff; \
	done
	cd tools && GOWORK=off go mod tidy -diff
	cd bench && GOWORK=off go build ./... && GOWORK=off go vet ./... && GOWORK=off go mod tidy -diff
	@if command -v shellcheck >/dev/null; then shellcheck scripts/* .ci/run; \
	else echo "shellcheck is not installed: scripts were not checked"; fi

.PHONY: lint
lint: $(TOOLS)/done ## Run the linters over every module; the first time builds them (minutes).
	$(TOOLS)/golangci-lint run $(MODULES:%=%/...)
	cd bench && GOWORK=off ../$(TOOLS)/golangci-lint run ./...
	$(TOOLS)/go-check-sumtype -default-signifies-exhaustive=false work
	scripts/lint-planted $(TOOLS)

$(TOOLS)/done: tools/go.mod tools/go.sum
	cd tools && GOWORK=off go build -o ../$(TOOLS)/ tool
	touch $@

.PHONY: fmt
fmt: ## Format every file.
	gofmt -w .

.PHONY: generate
generate: ## Generate what is generated; fails if that changed a file.
	scripts/generate

.PHONY: bench
bench: ## Measure against other limiters, in a quarter of an hour (a part: ROUNDS=1 CALLERS=128 CONTENDERS=regexp).
	scripts/bench $(if $(ROUNDS),-rounds '$(ROUNDS)') $(if $(CALLERS),-callers '$(CALLERS)') $(if $(CONTENDERS),-contenders '$(CONTENDERS)')

.PHONY: bench-check
bench-check: ## Say whether the last measurements keep what docs/performance.md claims.
	cd bench && GOWORK=off go run . check

.PHONY: bench-report
bench-report: ## Bring docs/performance.md up to date with the last measurements.
	cd bench && GOWORK=off go run . report

.PHONY: bench-go
bench-go: ## Run Go's own benchmarks (BENCH=regexp) on the first kind of server only.
	lanes=$$(scripts/test-servers) && env "$${lanes%%,*}" go test -run '^$$' -bench '$(BENCH)' -benchmem work

.PHONY: fuzz
fuzz: ## Fuzz every target for FUZZTIME each.
	FUZZTIME=$(FUZZTIME) scripts/fuzz

.PHONY: images
images: ## Pull or build the container images of the servers that tests run against.
	scripts/images

.PHONY: release-check
release-check: ## Show that VERSION=v0.1.0 would work for others, from its tags alone.
	@scripts/release-check '$(VERSION)'

.PHONY: adopt
adopt: ## Copy the tree under a name of your own: MODULE=github.com/acme/gate NAME=gate [DIR=../gate].
	@scripts/adopt '$(MODULE)' '$(NAME)' '$(DIR)'

.PHONY: clean
clean: ## Remove the containers that killed tests have left.
	@if docker info >/dev/null 2>&1; then docker ps -aq --filter label=weir-test | xargs docker rm -f 2>/dev/null || true; fi
