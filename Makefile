# make run   chats with the whole house in this terminal
# make test  checks everything; installs what it needs, or says what is missing

GO            ?= go
BIN           := $(CURDIR)/.bin
LINT_VERSION  := v2.15.0
LINT          := $(BIN)/golangci-lint-$(LINT_VERSION)

.PHONY: run build test test-long lint unit tools fmt bench

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
	$(GO) test -race -shuffle=on -timeout 20m ./...

# The same, with the sizes that take long: more kills, longer schedules.
test-long: tools lint
	PARLEY_LONG=1 $(GO) test -race -shuffle=on -timeout 80m ./...

fmt: $(LINT)
	$(LINT) fmt

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./bench/...

tools: $(LINT)
	@sh scripts/need.sh gcc:gcc promtool:prometheus

$(LINT):
	@mkdir -p $(BIN)
	GOBIN=$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	@mv $(BIN)/golangci-lint $@
