# make run   chats with the whole house in this terminal
# make test  checks everything; installs what it needs, or says what is missing

GO            ?= go
BIN           := $(CURDIR)/.bin
LINT_VERSION  := v2.15.0
LINT          := $(BIN)/golangci-lint-$(LINT_VERSION)

# The fault rows run up to seven processes each, some of them under two engines.
# They come after the other packages: beside them each would take the processor
# from the other. They mostly wait, so more of them run at a time than there are
# processors.
REST          := $$($(GO) list ./... | grep -v '/gateway/faulttest$$')
FAULTS        := $(GO) test -race -shuffle=on -parallel 4
SCRATCH       := sh scripts/scratch.sh
TELL          := bash scripts/failures.sh

.PHONY: run build test test-long lint unit monitoring tools fmt bench

run:
	@$(GO) run ./cmd/parley try

# A static binary for the machine it is built on.
build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o parley ./cmd/parley

test: tools lint unit

lint: $(LINT)
	@out="$$($(LINT) fmt --diff)"; test -z "$$out" || { echo "$$out"; echo 'make fmt mends the format'; exit 1; }
	$(GO) vet ./...
	$(LINT) run ./...

unit:
	$(TELL) $(SCRATCH) $(GO) test -race -shuffle=on -timeout 20m $(REST)
	$(TELL) $(SCRATCH) $(FAULTS) -timeout 20m ./gateway/faulttest
	$(TELL) $(GO) test ./gateway/simtest # ten times as many schedules as with the race detector
	$(GO) test -tags faultpoints ./faultpoint

# The same, with the sizes that take long: more kills, longer schedules; and on disk.
test-long: tools lint
	PARLEY_LONG=1 $(TELL) $(GO) test -race -shuffle=on -timeout 80m $(REST)
	PARLEY_LONG=1 $(TELL) $(FAULTS) -timeout 160m ./gateway/faulttest
	PARLEY_LONG=1 $(TELL) $(GO) test -timeout 80m ./gateway/simtest
	$(GO) test -tags faultpoints ./faultpoint

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
	$(GO) test -run '^$$' -bench . -benchmem -timeout 90m ./bench/...

tools: $(LINT)
	@sh scripts/need.sh gcc:gcc promtool:prometheus prometheus:prometheus redis-server:redis-server

$(LINT):
	@mkdir -p $(BIN)
	GOBIN=$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	@mv $(BIN)/golangci-lint $@
