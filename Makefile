# Lockstep: what there is to do. `make help` lists it.

GO ?= go
OUT ?= out
FUZZTIME ?= 60s
BIN := $(OUT)/lockstep

.PHONY: help
help: ## list what there is to do
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

.PHONY: demo
demo: build ## run the catalogue in simulation, print the table, write timelines to out/timelines
	$(BIN) run --out $(OUT)/timelines
	@echo
	@echo "What to try next:"
	@echo "  $(BIN) serve $(OUT)/timelines                # these runs in a browser, to step through"
	@echo "  $(BIN) show pause-after-acquire/redlock   # one of them: its story, and why it is UNSAFE"
	@echo "  $(BIN) matrix                             # what the libraries survive"

.PHONY: build
build: ## build the program: out/lockstep
	$(GO) build -o $(BIN) ./cmd/lockstep

.PHONY: fleet
fleet: build ## build the program and out/lockstep-fleet, for lockstep fleet and lockstep ledger
	$(GO) -C cmd/fleet build -o $(abspath $(OUT))/lockstep-fleet .

.PHONY: check
check: ## what to run before each commit: format, vet, staticcheck, and go test -short without real servers; less than two minutes on two cores
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "gofmt would change these"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) test -short -vet=off -p 3 -skip '$(SERVERS)|OfRedis|OwnServer|Conformance|TestMyLock' ./scenarios ./cmd/lockstep ./...

# Tests with real servers come first: most of their time they wait, and a server that answers late on a busy machine changes what happens. So
# beside them runs only what counts as theirs, and one other job on one processor at the lowest priority. When they have ended, two jobs
# run side by side: package scenarios, and the other packages with the tests under the race detector.
SERVERS := OnRedis|OnOwnServers|RueidislockIsCalm
CATALOGUE := ^TestOnRedis$$
BESIDE := checker/... clients/... docs reports scenarios/claims scenarios/files scenarios/internal/... scenarios/play scenarios/script scenarios/search sim/history sim/link
TEST := test -vet=off -timeout 20m # make lint and make check vet

.PHONY: test test-catalogue test-servers test-nodes test-beside test-scenarios test-others test-race test-fleet
test: redis-server chromium xmllint curl wasi-libc ## run all tests, getting redis-server, chromium, xmllint, curl and a compiler from C to WebAssembly first if they are missing
	$(GO) build ./...
	$(MAKE) --no-print-directory -j4 test-scenarios test-race
	$(MAKE) --no-print-directory test-fleet

test-catalogue:
	$(GO) $(TEST) -run '$(CATALOGUE)' ./scenarios

test-servers:
	$(GO) $(TEST) -run '$(SERVERS)' -skip '$(CATALOGUE)' ./scenarios

test-nodes:
	$(GO) $(TEST) -p 1 ./nodes/...

test-beside:
	GOMAXPROCS=1 nice -n 19 $(GO) $(TEST) -p 1 $(addprefix ./,$(BESIDE))

# The module with the queue and the ledger. Its tests kill processes and wait for others to notice, so nothing else runs meanwhile. The long ones
# take turns: on one day the fleet is killed at random and saturated; on the next it meets an outage, a planted regression, and plans that kill
# workers; on the third come the tests of CI, and one of the ledger.
LONG_FLEET_0 := -run 'Kills|Saturation' .
LONG_FLEET_1 := -run 'Murderers|Outage|Planted' .
LONG_FLEET_2 := -run 'Action|GitLab|Kubernetes|Nightly|ShapeIsLike' ./ci ./ledger
LONG_FLEET := $(LONG_FLEET_$(shell expr $$(date +%s) / 86400 % 3))
test-fleet:
	$(GO) -C cmd/fleet $(TEST) -short ./...
	$(GO) -C cmd/fleet $(TEST) $(LONG_FLEET)

test-scenarios: test-catalogue test-servers test-nodes
	$(GO) $(TEST) -skip '$(SERVERS)' ./scenarios

# All packages that are in no other job.
test-others: test-beside
	$(GO) $(TEST) -p 1 $$($(GO) list ./... | grep -vxF "$$($(GO) list $(addprefix ./,$(BESIDE)) ./nodes/... ./scenarios)")

test-race: test-others
	$(GO) $(TEST) -race -short -cpu 1,4 -run Same ./sim ./scenarios

.PHONY: all-draws
all-draws: ## run the tests that make a part of their draws each day, with all of them
	$(GO) test -timeout 0 -run 'Gate|Findings|Series|ModuleByPackageTime|ModuleProgram|TestMutex|GuestsOfLibraries|VerdictsOfSeeds|NoFalseAlarm|UnderOtherSeeds|RestlessLibraries|ExploreCatches|AccusesNoSoundLock|GuestsAsNative' ./scenarios -args -all-draws
	$(GO) test -timeout 0 -run 'PlansAreOneRun|BoundFindsTheCatalogue|Counterfactual|HarmlessFaults|StrategiesFind|BoundFindsBroken|BoundLeaves|FencedResource' ./scenarios/search -args -all-draws
	$(GO) test -timeout 0 ./scenarios/course/pack -args -all-draws
	$(GO) -C cmd/fleet test -timeout 0 -p 1 ./...
	$(GO) test -timeout 0 -run 'WebAssembly|LiveInBrowser|MatrixPage|CIPage|TestCourse|DocumentedCommands' ./cmd/lockstep -args -all-draws

.PHONY: pictures
pictures: ## write pictures of all sample histories, maps and plots to out/pictures, to be looked at
	mkdir -p $(OUT)/pictures
	PICTURES=$(abspath $(OUT)/pictures) $(GO) test ./reports/pictures -count 1 -run 'Pictures$$'

.PHONY: lint
lint: ## check format, go.mod, vet, staticcheck, and types on systems other than this one
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "gofmt would change these"; exit 1; }
	$(GO) mod tidy -diff
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) -C cmd/fleet mod tidy -diff
	$(GO) -C cmd/fleet vet ./...
	tool=$$($(GO) tool -n staticcheck) && cd cmd/fleet && $$tool ./...
	check=$$($(GO) tool -n typecheck) && \
	GOOS=js GOARCH=wasm $$check ./... && \
	GOOS=wasip1 GOARCH=wasm $$check ./scenarios/... ./sim/wasm ./cmd/lockstep/guest && \
	GOOS=windows $$check ./... && \
	cd cmd/fleet && GOOS=windows $$check ./...

.PHONY: bench
bench: ## what simulated commands cost, as ratios, Redlock runs per second, and what a second core brings a search
	GOMAXPROCS=1 $(GO) test ./scenarios -run '^$$' -bench . -benchtime 100x
	$(GO) test ./cmd/lockstep -run '^$$' -bench . -benchtime 3x

.PHONY: fidelity
fidelity: redis-server ## compare simulation and real servers, ten times each run, and renew docs/fidelity.md; an hour
	$(GO) test ./cmd/lockstep -run Fidelity -timeout 0 -args -fidelity 10

.PHONY: soak
soak: redis-server ## run the tests with real processes twenty times, to find one that depends on luck; over an hour
	$(GO) test -count 20 -timeout 0 ./nodes/...
	$(GO) test -count 20 -timeout 0 -run 'OnRedis|OnOwnServers|ClientClocks|OwnServer' ./scenarios ./cmd/lockstep

.PHONY: oracles
oracles: ## hold the checker to its slow oracles with 100,000 histories each; five minutes
	$(GO) test ./checker -run Oracle -timeout 0 -rapid.checks 100000

.PHONY: fuzz
fuzz: ## fuzz every fuzz target, a minute each
	@grep -roE '^func Fuzz[A-Za-z0-9_]+' --include='*_test.go' . | sort | while IFS=: read -r file func; do \
	  echo "$$file: $${func#func }"; \
	  $(GO) test "$$(dirname "$$file")" -run '^$$' -fuzz "^$${func#func }\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x </dev/null || exit; done

# Tests that wait for real processes fail on a busy machine without a mutant. A mutant may take all memory.
.PHONY: mutants
PKG ?= ./checker
MUTANTS ?= -n 20 -seed 1
mutants: ## what the tests do not notice: make mutants PKG=./checker MUTANTS="-n 20 -seed 1"
	ulimit -v 12000000; nice -n 10 $(GO) run ./cmd/mutants -skip '$(SERVERS)|OfRedis|Conformance' $(MUTANTS) $(PKG)

.PHONY: golden
golden: ## renew the timelines in the catalogue, the checksums of its traces, its explanations and the counterexamples of the search; read the diff before you commit it
	$(GO) test ./scenarios -run 'Test(Catalogue(IsExplained)?|Sweeps)$$' -rewrite
	$(GO) test ./scenarios/search -run 'TestShrink$$' -rewrite

.PHONY: redis-server
redis-server:
	@command -v redis-server >/dev/null || { \
	  echo "redis-server is missing: installing it"; \
	  if [ "$$(id -u)" = 0 ]; then as=; else as=sudo; fi; \
	  $$as apt-get update -qq && $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq redis-server; }

.PHONY: chromium
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
	  echo "chromium is missing: installing it"; \
	  if [ "$$(id -u)" = 0 ]; then as=; else as=sudo; fi; \
	  $$as apt-get update -qq && $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; }

.PHONY: xmllint
xmllint:
	@command -v xmllint >/dev/null || { \
	  echo "xmllint is missing: installing it"; \
	  if [ "$$(id -u)" = 0 ]; then as=; else as=sudo; fi; \
	  $$as apt-get update -qq && $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq libxml2-utils; }

.PHONY: curl
curl:
	@command -v curl >/dev/null || { \
	  echo "curl is missing: installing it"; \
	  if [ "$$(id -u)" = 0 ]; then as=; else as=sudo; fi; \
	  $$as apt-get update -qq && $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq curl ca-certificates; }

.PHONY: wasi-libc
wasi-libc:
	@echo 'int main(void) { return 0; }' | clang --target=wasm32-wasi -x c - -o /dev/null 2>/dev/null || { \
	  echo "clang, lld or wasi-libc is missing: installing them"; \
	  if [ "$$(id -u)" = 0 ]; then as=; else as=sudo; fi; \
	  $$as apt-get update -qq && $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq clang lld wasi-libc libclang-rt-dev-wasm32; }

.PHONY: clean
clean: ## remove what the other targets made
	rm -rf $(OUT)
