# make run      chats with a complete gateway in this terminal
# make test     checks everything; installs what it needs, or says what is missing
#               (make test-long: for longer; make test-rough: on a machine that is
#               busy or stands still; make mutants: the tests themselves)
# make check    checks what was changed, in between

GO            ?= go
BIN           := $(CURDIR)/.bin
LINT_VERSION  := v2.15.0
LINT          := $(BIN)/golangci-lint-$(LINT_VERSION)

# What is not a test is compiled as the released program is, also for vet, lint and
# the programs that tests run: so packages are compiled twice on a fresh machine,
# with the race detector and without, and not four times.
PLAIN         := CGO_ENABLED=0 GOFLAGS="$$($(GO) env GOFLAGS) -trimpath"
PROGRAMS      := $(BIN)/programs
BUILD         := CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '-s -w'

# SQLite in Go is a translation of the C program, and the race detector makes it
# twenty times slower. Here it is compiled without: who calls it is watched all
# the same, and make test-long watches SQLite too. How pointers are converted is
# checked in parley's own packages only, and nobody runs a debugger here: both
# together are an eighth of what compiling takes, and a fourteenth of the tests.
RACE          := -race -gcflags='all=-d=checkptr=0 -dwarf=false' -gcflags='parley/...=-dwarf=false' -gcflags='modernc.org/sqlite/lib=-race=false -d=checkptr=0 -dwarf=false'

# A program with the race detector sleeps for a second before it exits, unless it
# is told otherwise.
export GORACE := atexit_sleep_ms=0 $(GORACE)

# Tests wait more than they work (for servers that choose a leader, leases of killed
# processes, disks), so more of them run at a time than there are processors. They
# are linked without symbols, which nobody reads, and compiled with -trimpath, so that
# what one clone has compiled another need not. Without GOTMPDIR, where the go command
# builds, their folders are in TMPDIR (see testing.T.TempDir), as scratch.sh says.
JOBS          := $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))
LOGS          := $(BIN)/test
TEST           = $(GO) test -trimpath -json -p $(JOBS) -parallel $(JOBS) -shuffle=on -vet=off -ldflags='-s -w' -exec 'env -u GOTMPDIR' -artifacts -outputdir=$(LOGS)
PLAINLY       := ./gateway/simtest ./channels/internal/markup ./faultpoint
SCRATCH       := sh scripts/scratch.sh
SHOW          := $(GO) run -trimpath ./scripts/showtest

.PHONY: run build packages deploy-check test test-long test-judges test-races test-faults test-plain test-rough check lint unit programs monitoring tools fmt bench

run:
	@$(GO) run ./cmd/parley try

# A static binary for the machine it is built on.
build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o parley ./cmd/parley

# Packages for Debian and RPM-based systems, in .bin/packages; GOARCH=arm64 make packages
# builds them for another processor.
NFPM_VERSION  := v2.43.0
packages:
	GO='$(GO)' NFPM_VERSION=$(NFPM_VERSION) sh scripts/packages.sh

# The files of deploy/, read by the programs that they are for.
COMPOSE_VERSION   ?= v2.16.2
KUSTOMIZE_VERSION ?= v5.7.1
deploy-check:
	GO='$(GO)' NFPM_VERSION=$(NFPM_VERSION) COMPOSE_VERSION=$(COMPOSE_VERSION) KUSTOMIZE_VERSION=$(KUSTOMIZE_VERSION) sh scripts/deploycheck.sh

test: tools lint unit

lint: $(LINT)
	@out="$$($(LINT) fmt --diff)"; test -z "$$out" || { echo "$$out"; echo 'make fmt mends the format'; exit 1; }
	@out="$$($(GO) mod tidy -diff)" || { echo "$$out"; echo 'go mod tidy mends go.mod and go.sum'; exit 1; }
	$(PLAIN) $(GO) vet ./...
	$(PLAIN) $(LINT) run ./...

# The real binaries that tests run, built once for all packages; see cmd/cmdtest.
programs:
	@mkdir -p $(PROGRAMS) $(LOGS)
	@$(BUILD) -o $(PROGRAMS)/parley ./cmd/parley
	@$(BUILD) -tags faultpoints -o $(PROGRAMS)/parley-faultpoints ./cmd/parley
	@$(BUILD) -o $(PROGRAMS)/node ./broker/brokertest/node
	@$(BUILD) -o $(PROGRAMS)/signaltest ./channels/signal/signaltest

unit: programs
	PARLEY_PROGRAMS=$(PROGRAMS) $(SCRATCH) $(SHOW) -log $(LOGS)/test.log $(TEST) -timeout 20m $(RACE) ./...
	# Ten times as many schedules, and texts thirty times as long, as with the race
	# detector; and the fault points, which are nothing without their tag.
	$(PLAIN) $(SHOW) -log $(LOGS)/plain.log $(TEST) -tags faultpoints $(PLAINLY)

# The same, with the sizes that take long: more kills, longer schedules, both
# engines, SQLite under the race detector too; and on disk. And the official SDKs of
# the model providers judge what parley sends and reads. The programs that are killed
# have no race detector, and the simulators beside them, which ran under it in the
# lines before, would take half of the machine with it. make -j4 test-long has the four
# parts side by side: each alone leaves a processor with nothing to do again and again.
test-long: test-judges test-races test-faults test-plain

test-judges test-races test-faults test-plain: export PARLEY_LONG := 1
test-judges: lint
	$(PLAIN) $(LINT) run --build-tags judges ./llm/... ./simulators/model
	$(SHOW) -log $(LOGS)/judges.log $(TEST) -tags judges ./llm/... ./simulators/model

test-races: tools programs
	PARLEY_PROGRAMS=$(PROGRAMS) $(SHOW) -log $(LOGS)/long.log $(TEST) -p 2 -timeout 160m -race $$($(GO) list ./... | grep -v '/gateway/faulttest$$')

test-faults: tools programs
	PARLEY_PROGRAMS=$(PROGRAMS) $(PLAIN) $(SHOW) -log $(LOGS)/faults.log $(TEST) -timeout 160m ./gateway/faulttest

test-plain: programs
	$(PLAIN) $(SHOW) -log $(LOGS)/plain.log $(TEST) -timeout 160m -tags faultpoints $(PLAINLY)

# The tests on a machine that is busy, and on one that stands still again and again.
ROUNDS        ?= 3
test-rough: tools
	@for round in $$(seq $(ROUNDS)); do for mode in load freeze; do \
		echo "$$mode, round $$round of $(ROUNDS)"; bash scripts/rough.sh $$mode $(MAKE) --no-print-directory unit || exit 1; \
	done; done

# What was changed since BASE, and is not committed yet: format, vet, lint, the
# drawing, and the tests of the packages with a change.
BASE          ?= HEAD
check: $(LINT) programs
	@GO='$(GO)' LINT='$(LINT)' PARLEY_PROGRAMS=$(PROGRAMS) sh scripts/check.sh '$(BASE)' $(SHOW) -log $(LOGS)/check.log $(TEST) -timeout 20m $(RACE)

# The rules, alerts and dashboards that are shipped.
monitoring:
	@sh scripts/need.sh promtool:prometheus prometheus:prometheus
	promtool check rules deploy/monitoring/rules/*.yml deploy/monitoring/alerts/*.yml
	promtool check config deploy/monitoring/prometheus.yml
	promtool test rules deploy/monitoring/tests/*.test.yml
	$(GO) test ./deploy/monitoring/...

fmt: $(LINT)
	$(LINT) fmt

bench:
	$(GO) test -run '^$$' -bench . -benchmem -timeout 120m ./bench | $(GO) run ./bench/goals

tools: $(LINT)
	@sh scripts/need.sh gcc:gcc promtool:prometheus prometheus:prometheus redis-server:redis-server chromium:chromium bwrap:bubblewrap

$(LINT):
	@mkdir -p $(BIN)
	GOBIN=$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	@mv $(BIN)/golangci-lint $@

# Takes what matters out of the code, one patch of mutants/ after another: each
# must turn the test red that it names, as make test runs it. ONLY=name tries one
# and shows what its test says; LONG=1 tries the fault rows that are named, too.
.PHONY: mutants
mutants: tools
	$(SCRATCH) $(GO) run ./mutants $(if $(LONG),-long) $(if $(ONLY),-only $(ONLY))
