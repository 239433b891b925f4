# Orch. `make help` lists the targets; the text comes from the ## comments.
#
# Modules come from `go list -m`, never from a hand-kept list: a new one is tested, linted and verified on its first day.
# Tools are built from tools/*/go.mod into .cache/bin, so that everybody runs the same versions; Go and make are enough.

BIN  := $(CURDIR)/.cache/bin
VENV := $(CURDIR)/.venv
export PATH := $(BIN):$(PATH)

VERSION  := $(shell tools/version)
LDFLAGS  := -s -w -X main.version=$(VERSION)
# Without cgo no C compiler is needed, and Pebble's zstd is the Go one. Tests run what programs are built of.
export CGO_ENABLED ?= 0
GOBUILD  := go build -trimpath -ldflags '$(LDFLAGS)'
MODULES   = $$(go list -f '{{.Dir}}' -m)
PACKAGES  = $$(go list -f '{{.Dir}}/...' -m)
COMMANDS := $(addprefix ./,$(wildcard services/*/cmd/*))

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z][a-z0-9-]*:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

## Use

.PHONY: run
run: ## build bin/orch and start the whole server; ARGS="--listen 127.0.0.1:4300" is passed on
	$(GOBUILD) -o bin/orch ./services/standalone/cmd/orch
	exec bin/orch server $(ARGS)

.PHONY: build
build: ## build every command into bin/
	@mkdir -p bin
	$(GOBUILD) -o bin/ $(COMMANDS)

.PHONY: up
up: ## start the three services, NATS and MongoDB in containers (Docker)
	tools/compose-secrets .env
	docker compose up --build --detach --wait
	@echo "Orch answers on http://$$(docker compose port gateway 4200) (API below /api, webhooks below /hooks). Stop it with: make down"

# The tag of images, which may not have a plus sign.
TAG ?= $(subst +,-,$(VERSION))

.PHONY: pin-images
pin-images: ## pin the foreign images of the deployment files by the digests that their registries name
	tools/pin-images

.PHONY: images
images: ## build the images of all programs for PLATFORMS (this machine's) and push them: make images REGISTRY=registry.example.com/orch
	@docker buildx version > /dev/null || { echo 'images needs Docker with buildx'; exit 1; }
	@test -n "$(REGISTRY)" || test -n "$(LOAD)" || { echo 'name your registry: make images REGISTRY=…, or LOAD=1 for this machine alone'; exit 1; }
	for service in orch gateway hooks orchestration; do \
		docker buildx build --file deploy/docker/Dockerfile --build-arg SERVICE=$$service --build-arg VERSION=$(VERSION) \
			$(if $(PLATFORMS),--platform $(PLATFORMS)) --tag $(or $(REGISTRY),localhost)/orch$$([ $$service = orch ] || echo -$$service):$(TAG) \
			$(if $(LOAD),--load,--push --provenance=true --sbom=true) . || exit 1; \
	done

.PHONY: release
release: $(BIN)/nfpm $(BIN)/cyclonedx-gomod $(BIN)/ociimage ## make the files of a release in dist/; VERSION=1.2.3 PLATFORMS="linux/amd64" SIGNING_KEY=key.pem CHARTS_URL=https://…
	VERSION='$(VERSION)' PLATFORMS='$(PLATFORMS)' SIGNING_KEY='$(SIGNING_KEY)' CHARTS_URL='$(CHARTS_URL)' tools/release dist

# The program that draws the diagrams of the documents in the browser, from npm's package.
MERMAID := $(CURDIR)/.cache/mermaid-11.12.0

$(MERMAID):
	@command -v npm > /dev/null || { echo 'npm is missing: it fetches the program that draws diagrams'; exit 1; }
	rm -rf $@.part
	mkdir -p $@.part
	cd $@.part && tar --extract --gzip --strip-components=1 --file "$$(npm pack --silent $(subst mermaid-,mermaid@,$(notdir $@)))"
	mv $@.part $@

.PHONY: site
site: $(VENV)/site $(MERMAID) ## build the documents as a static site in .cache/site, with search, and check that it asks no other host; it needs Python and npm
	MERMAID=$(MERMAID) NO_MKDOCS_2_WARNING=1 $(VENV)/site/bin/mkdocs build --config-file tools/site/mkdocs.yml
	ORCH_TEST_SITE=$(CURDIR)/.cache/site go test -count=1 -run='^TestSite$$' $(TESTFLAGS) ./test/documents
	@echo 'Read it with: python3 -m http.server --directory .cache/site'

.PHONY: down
down: ## stop the containers; the data stays in its volumes
	docker compose down

## Check

# Tests of a package run four at a time whatever the number of processors, because many of them wait for disks and timers.
.PHONY: test
test: ## run the tests of all modules
	GOGC=400 go test -shuffle=on -parallel=4 -timeout=30m $(TESTFLAGS) $(PACKAGES)

# The race detector needs cgo.
race e2e-poison: export CGO_ENABLED = 1

.PHONY: race
race: ## run the tests of all modules under the race detector, those that take minutes in their short form
	$(MAKE) test TESTFLAGS='-race -short $(TESTFLAGS)'

.PHONY: e2e
e2e: ## run the tests that start real processes
	go test -count=1 -timeout=20m -tags=e2e $(TESTFLAGS) ./test/e2e/... ./test/traffic

.PHONY: e2e-crowd
e2e-crowd: ## open 10,000 websockets of idle and ill-mannered clients against both forms of the server
	ORCH_TEST_SOCKETS=10000 go test -count=1 -v -timeout=20m -tags=e2e -run=Crowd $(TESTFLAGS) ./test/e2e

.PHONY: e2e-web
e2e-web: ## read every page of the dashboard in Chromium and use every action, with and without scripts, in both forms; SCREENSHOTS=folder keeps images
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update && apt-get install -y chromium; } || \
		{ echo "e2e-web needs Chromium: install the package chromium, or set ORCH_TEST_CHROMIUM"; [ -n "$$ORCH_TEST_CHROMIUM" ]; }
	ORCH_TEST_SCREENSHOTS=$(SCREENSHOTS) go test -count=1 -v -timeout=30m -tags=e2eweb $(TESTFLAGS) ./test/e2e/web

.PHONY: e2e-site
e2e-site: site ## read every page of the site in Chromium, with its diagrams and its search; SCREENSHOTS=folder keeps images
	ORCH_TEST_SITE=$(CURDIR)/.cache/site ORCH_TEST_SCREENSHOTS=$(SCREENSHOTS) \
		go test -count=1 -v -timeout=10m -tags=e2eweb -run='^TestSite$$' $(TESTFLAGS) ./test/e2e/web

.PHONY: screenshots
screenshots: ## take the images of the README again
	go test -count=1 -timeout=15m -tags=e2eweb -run='^TestScreenshots$$' ./test/e2e/web -images

.PHONY: e2e-stock-ui
e2e-stock-ui: $(VENV)/prefect-3.9 ## read the pages of the Python package's two web UIs and use v2's actions, with the server as their API, in Chromium; SCREENSHOTS=folder
	@command -v chromium >/dev/null || [ -n "$$ORCH_TEST_CHROMIUM" ] || { echo "e2e-stock-ui needs Chromium: make e2e-web installs it"; exit 1; }
	ORCH_TEST_PREFECT=$(VENV)/prefect-3.9 ORCH_TEST_SCREENSHOTS=$(SCREENSHOTS) go test -count=1 -v -timeout=0 -tags=e2eweb -run=StockUI $(TESTFLAGS) ./test/e2e/web

.PHONY: e2e-recipes
e2e-recipes: ## create a webhook of each preset in both forms of the server, and post its signed sample
	go test -count=1 -v -timeout=10m -tags=e2e -run='^TestRecipes$$' $(TESTFLAGS) ./test/e2e

.PHONY: e2e-listen
e2e-listen: ## forward deliveries to a program in both forms, measure it, and kill server and client in between
	go test -count=1 -v -timeout=20m -tags=e2e -run='^TestListen$$' $(TESTFLAGS) ./test/e2e

.PHONY: e2e-outbound
e2e-outbound: ## queue EVENTS=100000 for a receiver that is down for a simulated day, in both forms, and deliver them at RATE=200 with a kill in between
	ORCH_TEST_OUTBOUND_EVENTS=$(or $(EVENTS),100000) ORCH_TEST_OUTBOUND_RATE=$(or $(RATE),200) go test -count=1 -v -timeout=40m -tags=e2e -run='^TestOutbound$$' $(TESTFLAGS) ./test/e2e

.PHONY: e2e-poison
e2e-poison: ## poison each kind of effect and each consumer among 1,000 healthy ones, in both forms, under the race detector
	cd services/orchestration && go test -race -count=1 -v -timeout=10m -run='Poison|Stuck|Bad|DeadLetter|ThatTheDatabase|ThatAnAutomation' \
		. ./internal/outbox
	ORCH_TEST_RACE=1 ORCH_TEST_WITHIN=$(or $(WITHIN),2s) go test -race -count=1 -v -timeout=20m -tags=e2e -run='^TestPoison$$' $(TESTFLAGS) ./test/e2e

.PHONY: e2e-faults
e2e-faults: ## inject faults into both forms under load, and print a table of them; FAULTS=short takes three minutes, BROKER_AWAY=20m, root for disks
	ORCH_TEST_FAULTS=$(or $(FAULTS),full) ORCH_TEST_BROKER_AWAY=$(BROKER_AWAY) go test -count=1 -v -timeout=60m -tags=e2e -parallel=4 \
		-run='^Test(Faults|FaultsOfFiles|FaultsOfTenants|OutboxDrainsAfterAnOutageOfTheBroker)$$' $(TESTFLAGS) ./test/e2e

.PHONY: e2e-drain
e2e-drain: ## measure how long 200,000 pending effects take after an outage of the broker, and fail beyond 60 s; BROKER_AWAY=20m
	ORCH_TEST_FAULTS=full ORCH_TEST_BROKER_AWAY=$(or $(BROKER_AWAY),5s) go test -count=1 -v -timeout=60m -tags=e2e \
		-run='^TestOutboxDrainsAfterAnOutageOfTheBroker$$' $(TESTFLAGS) ./test/e2e

.PHONY: e2e-slots
e2e-slots: ## kill clients and servers of both forms while 64 clients share eight slots, and count holders by the events
	ORCH_TEST_SLOTS=1 go test -count=1 -v -timeout=20m -tags=e2e -run='^TestSlots$$' $(TESTFLAGS) ./test/e2e

.PHONY: e2e-cluster
e2e-cluster: ## run ten hosts in network namespaces under load, kill, cut off and impair them, and measure more replicas; needs root and iproute2
	@[ "$$(id -u)" = 0 ] && command -v ip > /dev/null || echo 'e2e-cluster needs root and iproute2; it is skipped'
	ORCH_TEST_CLUSTER=1 ORCH_TEST_CLUSTER_LOAD=$(or $(CLUSTER_LOAD),20s) \
		go test -count=1 -v -timeout=20m -tags=e2e -run='^TestCluster' $(TESTFLAGS) ./test/e2e

.PHONY: e2e-compose
e2e-compose: ## start docker-compose.yml from nothing, kill each container under load, restart, and count; ORCH_TEST_COMPOSE_OVERRIDE=file adds settings
	ORCH_TEST_COMPOSE=1 go test -count=1 -v -timeout=60m -tags=e2e -run='^TestCompose$$' $(TESTFLAGS) ./test/e2e

.PHONY: e2e-release
e2e-release: ## make a release for this machine, install its archive and packages into directories, start them, and build it again
	$(MAKE) release PLATFORMS=linux/$$(go env GOARCH)
	VERSION='$(VERSION)' PLATFORMS=linux/$$(go env GOARCH) ORCH_TEST_RELEASE=$(CURDIR)/dist \
		go test -count=1 -v -timeout=30m -tags=e2e -run='^TestRelease$$' $(TESTFLAGS) ./test/deploy

.PHONY: e2e-kubernetes
e2e-kubernetes: ## check the overlays and both modes of the chart, and run the pod of the mode single by podman, from the image of a release
	$(MAKE) release PLATFORMS=linux/$$(go env GOARCH)
	ORCH_TEST_RELEASE=$(CURDIR)/dist go test -count=1 -v -timeout=30m -tags=e2e -run='^Test(Kubernetes|Helm|Pod)' $(TESTFLAGS) ./test/deploy

.PHONY: e2e-replicaset
e2e-replicaset: ## fail over three MongoDB members and three NATS servers under load, force a rollback; needs root, iproute2 and the server of test-mongo
	ORCH_TEST_REPLICASET=1 go test -count=1 -v -timeout=20m -tags=e2e -run='^TestReplicaSet$$' $(TESTFLAGS) ./test/e2e

# The version that upgrades are tested from.
UPGRADE_FROM ?= c3fd151dcea0381523655180987af48a51744d13
UPGRADE_OLD := $(CURDIR)/.cache/upgrade

.PHONY: e2e-upgrade
e2e-upgrade: ## start this version on data of an earlier one, and replace the replicas of UPGRADE_FROM (a commit) under load
	tools/build-at $(UPGRADE_FROM) $(UPGRADE_OLD)
	ORCH_TEST_UPGRADE_OLD=$(UPGRADE_OLD) go test -count=1 -v -timeout=20m -tags=e2e -run='^Test(RollingUpgrade|UpgradeFixture)$$' $(TESTFLAGS) ./test/e2e

.PHONY: e2e-operators-hour
e2e-operators-hour: ## do what an operator does in the first hour: deploy, find a slow route, trace, rotate keys, back up, restore, upgrade
	go test -count=1 -v -timeout=10m -tags=e2e -run='^Test(OperatorsHour|IndexBuildDoesNotBlockTheStart)$$' $(TESTFLAGS) ./test/e2e

.PHONY: upgrade-fixture
upgrade-fixture: ## write test/e2e/testdata/upgrade, the data that UPGRADE_FROM leaves when it is killed
	tools/build-at $(UPGRADE_FROM) $(UPGRADE_OLD)
	ORCH_TEST_UPGRADE_OLD=$(UPGRADE_OLD) ORCH_TEST_UPGRADE_WRITE=1 \
		go test -count=1 -v -timeout=10m -tags=e2e -run='^TestWriteUpgradeFixture$$' $(TESTFLAGS) ./test/e2e

.PHONY: e2e-hostile
e2e-hostile: ## send each parser's worst body on each entrance, in parallel, to processes of 512 MiB, and measure an honest client beside it
	ORCH_TEST_HOSTILE=1 go test -count=1 -v -timeout=20m -tags=e2e -run='^TestHostile$$' $(TESTFLAGS) ./test/e2e

.PHONY: e2e-floods
e2e-floods: ## flood both forms with events from 1 to 1,000 clients; FLOOD=60s, CLIENTS=1,8,64,1000
	ORCH_TEST_FLOOD=$(or $(FLOOD),60s) ORCH_TEST_FLOOD_CLIENTS=$(CLIENTS) \
		go test -count=1 -v -timeout=30m -tags=e2e -run='^TestFloods$$' $(TESTFLAGS) ./test/e2e

.PHONY: test-loaded
test-loaded: ## run the tests COUNT (20) times beside two busy loops per core; LOADED=./pkg/broker/... chooses packages
	TESTFLAGS='$(TESTFLAGS)' test/loaded $(or $(COUNT),20) $(or $(LOADED),$(PACKAGES))

.PHONY: e2e-sdk
e2e-sdk: $(VENV)/prefect ## run the Python SDK against both forms of the server and the Python server; SDKFLAGS="-reference=false" leaves that out
	go test -count=1 -v -timeout=0 -tags=e2esdk -run=Scenarios $(TESTFLAGS) ./test/e2e/sdk -environment $(VENV)/prefect $(SDKFLAGS)

SDKS := $(patsubst test/python/%.txt,$(VENV)/%,$(wildcard test/python/prefect-*.txt))

.PHONY: e2e-sdk-versions
e2e-sdk-versions: $(SDKS) ## run a few scenarios with other versions of the Python SDK, one environment a version
	go test -count=1 -v -timeout=0 -tags=e2esdk -run=Versions $(TESTFLAGS) ./test/e2e/sdk -environment $(VENV)/prefect $(SDKFLAGS)

.PHONY: e2e-first-contact
e2e-first-contact: $(addprefix $(VENV)/prefect-,3.1 3.3 3.6 3.9) ## run the first commands of dashboard and banner as printed, with four SDKs, in each vocabulary and authentication
	go test -count=1 -v -timeout=60m -tags=e2esdk -run='^TestFirstContact' $(TESTFLAGS) ./test/e2e/sdk -environment $(VENV)/prefect

.PHONY: e2e-docs
e2e-docs: $(VENV)/prefect ## follow the tutorials: write their files, run their commands in their order, with the Python SDK
	go test -count=1 -v -timeout=60m -tags=e2esdk -run='^TestTutorials$$' $(TESTFLAGS) ./test/e2e/sdk -environment $(VENV)/prefect

.PHONY: e2e-first-hour
e2e-first-hour: $(VENV)/prefect ## install a release as archive, package, container (ORCH_TEST_IMAGE) and by Compose, and follow the first tutorial with each
	$(MAKE) release PLATFORMS=linux/$$(go env GOARCH)
	ORCH_TEST_RELEASE=$(CURDIR)/dist go test -count=1 -v -timeout=60m -tags=e2esdk -run='^TestFirstHour$$' $(TESTFLAGS) ./test/e2e/sdk -environment $(VENV)/prefect

.PHONY: e2e-sdk-alike
e2e-sdk-alike: $(VENV)/prefect ## call everything the SDK and its command line offer, and compare with the Python server
	go test -count=1 -v -timeout=0 -tags=e2esdk -run=Alike $(TESTFLAGS) ./test/e2e/sdk -environment $(VENV)/prefect $(SDKFLAGS)

.PHONY: e2e-sdk-faults
e2e-sdk-faults: $(VENV)/prefect ## kill the servers while flows of the Python SDK run
	go test -count=1 -v -timeout=0 -tags=e2esdk -run=Faults $(TESTFLAGS) ./test/e2e/sdk -environment $(VENV)/prefect $(SDKFLAGS)

.PHONY: e2e-cleanup
e2e-cleanup: $(VENV)/prefect-3.9 ## cancel 100 runs whose runner is dead, and count what workers remove while a worker and the servers are killed
	go test -count=1 -v -timeout=30m -tags=e2esdk -run='^TestCleanup$$' $(TESTFLAGS) ./test/e2e/sdk -environment $(VENV)/prefect-3.9

.PHONY: e2e-liveness
e2e-liveness: $(VENV)/prefect-3.9 $(VENV)/prefect-3.3 ## kill hosts, workers and runners of the SDK in each state; then 10,000 runs send heartbeats amid disturbances; LIVENESSFLAGS="-liveness.runs=1000"
	go test -count=1 -v -timeout=40m -tags=e2esdk -run='^TestLiveness$$' $(TESTFLAGS) ./test/e2e/sdk -environment $(VENV)/prefect-3.9 -old $(VENV)/prefect-3.3
	go test -count=1 -v -timeout=40m -tags=e2e -run='^TestHealthyRunsAreNotLost$$' $(TESTFLAGS) ./test/e2e -liveness $(LIVENESSFLAGS)

.PHONY: e2e-maintenance
e2e-maintenance: $(addprefix $(VENV)/prefect-,3.3 3.6 3.9) ## run 500 flows of three SDKs during an outage of the store of 10 minutes, and an upgrade of each process; MAINTENANCEFLAGS="-flows=60 -away=2m"
	go test -count=1 -v -timeout=60m -tags=e2esdk -run='^TestMaintenance$$' $(TESTFLAGS) ./test/e2e/sdk -environment $(VENV)/prefect $(MAINTENANCEFLAGS)

.PHONY: test-automations
test-automations: ## evaluate the vectors of triggers and of matching, by one evaluator and by three replicas with crashes
	cd services/orchestration && go test -count=1 -v -run='Vectors|Matching|Replicas|Metric' ./internal/automations/... | grep -v '^=== '

.PHONY: e2e-automations
e2e-automations: $(VENV)/prefect ## run automations of every kind by the Python SDK against both forms of the server and the Python server
	go test -count=1 -v -timeout=30m -tags=e2esdk -run='^TestAutomations$$' $(TESTFLAGS) ./test/e2e/sdk -environment $(VENV)/prefect $(SDKFLAGS)

.PHONY: test-ranking
test-ranking: ## poll work pools in every recorded situation, and compare the order of the runs with the reference's
	cd test && go test -count=1 -v -run='^TestRanking$$' ./rest

.PHONY: e2e-loop
e2e-loop: $(VENV)/prefect ## post signed webhooks until the stock worker has run them, measure it, and kill processes meanwhile; LOOPFLAGS="-loop.kill.for=10s"
	go test -count=1 -v -timeout=30m -tags=e2esdk -run='^TestLoop' $(TESTFLAGS) ./test/e2e/sdk -environment $(VENV)/prefect
	go test -count=1 -v -timeout=30m -tags=e2e -run='^TestLoop' $(TESTFLAGS) ./test/e2e -loop $(LOOPFLAGS)

.PHONY: bench-automations
bench-automations: build $(VENV)/prefect ## measure automations beside the Python server: events evaluated, firing delay, memory, ingestion
	go run ./test/bench/automations -prefect $(VENV)/prefect/bin/prefect $(BENCHFLAGS)
	cd services/orchestration && go test -run='^$$' -bench='Automations' -benchmem ./internal/automations/...

.PHONY: test-replicas
test-replicas: ## schedule 1,000 deployments from two replicas that are killed while their clocks jump
	cd services/orchestration && ORCH_TEST_DEPLOYMENTS=1000 go test -count=1 -v -timeout=30m -run='^TestReplicasKilledWhileClocksJump$$' ./internal/schedules

.PHONY: test-traffic
test-traffic: ## replay what recorded clients asked of the reference, and compare the answers
	go test -count=1 -v -tags=e2e -run='^TestTraffic' ./test/traffic

WHEEL ?= 3.9.1

.PHONY: parity
parity: ## compare with the reference of version WHEEL: document, vectors, recorded traffic; list every difference that no file explains
	tools/parity $(WHEEL) $(VENV)

.PHONY: test-monitoring
test-monitoring: ## check the dashboard and the alerts, by promtool too: it installs Prometheus from Debian when it may
	@command -v promtool > /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && \
		apt-get install --yes --no-install-recommends prometheus > /dev/null; } || echo 'promtool is missing: the expressions are not parsed'
	go test -count=1 -v -run='Alerts|Dashboard' ./test/deploy

.PHONY: test-schedules
test-schedules: ## compute the times of all cron, interval and rrule vectors, and print how many are as the reference has them
	go test -count=1 -v -run='Vectors$$' ./pkg/schedule

.PHONY: test-slots
test-slots: ## take slots by 64 clients while clients and servers die, and compare rate limits with the formula of the reference
	cd services/orchestration && go test -count=1 -v -run='Slots|RateLimits|Repossess' ./internal/concurrency ./internal/flowruns . | grep -v '^=== '

.PHONY: test-schemathesis
test-schemathesis: $(VENV)/schemathesis ## ask the running server what its OpenAPI document allows, and what not; EXAMPLES=10 SEED=1
	ORCH_TEST_SCHEMATHESIS=$(VENV)/schemathesis/bin/schemathesis ORCH_TEST_EXAMPLES=$(EXAMPLES) ORCH_TEST_SEED=$(SEED) \
		go test -count=1 -v -timeout=0 -tags=e2e -run='^TestServerKeepsItsDocument$$' ./test/schemathesis

.PHONY: test-generated-clients
test-generated-clients: $(VENV)/generators ## generate a Python and a Go client from the OpenAPI document without a warning, and build them
	@mkdir -p .cache/generated
	PATH=$(VENV)/generators/bin:$$PATH openapi-python-client generate --path pkg/openapi/testdata/openapi.json \
		--output-path .cache/generated/python --overwrite --fail-on-warning
	cd .cache/generated/python && $(VENV)/generators/bin/python -c \
		'from orch_client.models import BlockDocumentFilter as F, BlockDocumentFilterIsAnonymous as A; assert F(is_anonymous=A(eq=False)).to_dict()["is_anonymous"] == {"eq_": False}'
	GOWORK=off go -C tools/oapi tool oapi-codegen -generate types,client -package orch -o $(CURDIR)/.cache/generated/orch.go $(CURDIR)/pkg/openapi/testdata/openapi.json
	cd test && go build -o /dev/null ../.cache/generated/orch.go

.PHONY: e2e-cli
e2e-cli: $(VENV)/prefect ## keep webhooks with the unmodified command line of Prefect
	ORCH_TEST_PREFECT=$(VENV)/prefect/bin/prefect go test -count=1 -timeout=10m -v -tags=e2e,python -run='^TestStockCommandLine$$' $(TESTFLAGS) ./test/e2e/...

.PHONY: e2e-import
e2e-import: $(VENV)/prefect-3.9 ## import databases of the Python server with 50,000 runs, on SQLite and PostgreSQL, into a directory (within a minute) and mongod, and compare; IMPORTFLAGS="-import.runs=1000 -import.within=2m"
	ORCH_TEST_PREFECT=$(VENV)/prefect-3.9 go test -count=1 -timeout=60m -v -tags=e2e,python -run='^TestImportPrefect$$' $(TESTFLAGS) ./test/e2e $(IMPORTFLAGS)

.PHONY: e2e-terraform
e2e-terraform: ## apply a configuration by Terraform with Prefect's provider, whose program is in the directory PROVIDER, in each vocabulary
	ORCH_TEST_TERRAFORM_PROVIDER=$(abspath $(PROVIDER)) go test -count=1 -timeout=10m -v -tags=e2e -run='^TestTerraform$$' $(TESTFLAGS) ./test/e2e

# Sources of clients, each in a folder of CLIENTS. Those that are missing are cloned, and skipped without a network.
CLIENTS        ?= $(CURDIR)/.cache/clients
CLIENT_SOURCES := terraform-provider-prefect prefect prometheus-prefect-exporter prefect-operator

.PHONY: e2e-clients
e2e-clients: ## run tests of Terraform's provider, Prefect's integration tests, exporter, MCP server and operator client; CLIENTS=folder of checkouts
	@mkdir -p $(CLIENTS)
	@for name in $(CLIENT_SOURCES); do \
		[ -d $(CLIENTS)/$$name ] || git clone --quiet --depth 1 https://github.com/PrefectHQ/$$name $(CLIENTS)/$$name || echo "cannot clone $$name: it is skipped"; \
	done
	@$(MAKE) --no-print-directory $(VENV)/clients || { rm -rf $(VENV)/clients; echo 'cannot install test/python/clients.txt: all clients are skipped'; }
	ORCH_TEST_CLIENTS=$(abspath $(CLIENTS)) ORCH_TEST_CLIENTS_PYTHON=$(VENV)/clients go test -count=1 -v -timeout=90m -tags=e2e -run='^TestClients$$' $(TESTFLAGS) ./test/e2e

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (30s)
	tools/each-fuzz-target $(or $(FUZZTIME),30s)

.PHONY: fuzz-nightly
fuzz-nightly: ## run every fuzz target for 10 minutes, keep its corpus in FUZZCACHE (.cache/fuzz), go on after a crash, and list the crashes
	FUZZCACHE=$(or $(FUZZCACHE),$(CURDIR)/.cache/fuzz) FUZZALL=1 tools/each-fuzz-target $(or $(FUZZTIME),10m)

.PHONY: bench
bench: build ## measure start and memory of the single binary, then run the benchmarks of all modules
	go run ./test/bench/footprint -orch bin/orch
	go test -run='^$$' -bench=. -benchmem $(TESTFLAGS) $(PACKAGES)

.PHONY: bench-jinja
bench-jinja: $(VENV)/oracle ## measure the template engine beside CPython's Jinja2
	cd pkg && JINJA_BENCH_PYTHON=$(VENV)/oracle/bin/python go test -count=1 -v -run='^TestBesideCPython$$' ./jinja/bench

.PHONY: bench-hooks
bench-hooks: build ## measure webhook ingestion beside an HTTP server that does nothing
	go run ./test/bench/hooks $(BENCHFLAGS)

.PHONY: profile-hooks
profile-hooks: build ## profile webhook ingestion under load, and print the shares of its parts; BENCHFLAGS="-length 30s" for more samples
	@mkdir -p .cache
	go run ./test/bench/hooks -accepted -profile .cache/hooks.pprof $(BENCHFLAGS)

.PHONY: bench-api
bench-api: build $(VENV)/prefect ## measure the API beside the Python server on Postgres; BENCHFLAGS="-rows get,create" chooses
	go run ./test/bench/api -prefect $(VENV)/prefect/bin/prefect $(BENCHFLAGS)

.PHONY: bench-counts
bench-counts: ## compare counts of runs with walks of an index, on the embedded store and on a MongoDB server; ORCH_BENCH_RUNS=100000 for more
	cd services/orchestration && go test -run='^$$' -bench=Counts ./internal/store
	go run ./test/withmongod sh -c "cd services/orchestration && go test -run='^$$' -bench=Counts ./internal/store"

.PHONY: bench-events
bench-events: build $(VENV)/prefect ## measure how events and logs are taken in beside the Python server, and their first pages among a million
	go run ./test/bench/events -prefect $(VENV)/prefect/bin/prefect $(BENCHFLAGS)
	cd services/orchestration && ORCH_SCALE_EVENTS=1000000 go test -count=1 -v -timeout=20m -run='^TestFirstPagesOfManyEvents$$' ./internal/events

.PHONY: bench-slots
bench-slots: build ## measure how slots are handed over: the time it takes, and whether those that wait longest come first
	go run ./test/bench/slots -orch bin/orch $(BENCHFLAGS)

.PHONY: bench-queues
bench-queues: build ## measure polls of a queue whose runs wait for a slot, and of one with 50,000 scheduled runs
	go run ./test/bench/queues -orch bin/orch $(BENCHFLAGS)

.PHONY: bench-workers
bench-workers: build $(VENV)/prefect ## measure polls of work pools beside the Python server; BENCHFLAGS="-runs 5000 -workers 10" makes it small
	go run ./test/bench/workers -orch bin/orch -prefect $(VENV)/prefect/bin/prefect $(BENCHFLAGS)

SCALE ?= 1000000
SCALEDATA ?= $(or $(TMPDIR),/tmp)/orch-bench-scale

.PHONY: bench-scale
bench-scale: build ## measure every filter, sort and count of the contract with SCALE runs beside ten thousand, then writes and scrapes; SCALEDATA keeps the stores
	failed=; (cd services/orchestration && go run ./bench/scale -dir $(SCALEDATA) -many $(SCALE) $(BENCHFLAGS)) || failed=1; \
	go run ./test/bench/scale -dir $(SCALEDATA)/$(SCALE) $(SCALEFLAGS) && test -z "$$failed"

.PHONY: bench-queries
bench-queries: ## measure pages of flow runs by the index that the service names and by the server's choice, on the embedded store and on MongoDB
	cd services/orchestration && go test -run '^$$' -bench Pages ./internal/query
	go run ./test/withmongod $(MAKE) bench-queries-mongo

.PHONY: bench-queries-mongo
bench-queries-mongo:
	cd services/orchestration && go test -run '^$$' -bench Pages ./internal/query

.PHONY: size
size: ## count the lines of the embedded store and of its planner, without tests
	@for d in pkg/embeddedmongo pkg/embeddedmongo/internal/plan services/orchestration/internal/query; do \
		printf '%6d %s\n' $$(find $$d -name '*.go' ! -name '*_test.go' -exec cat {} + | wc -l) $$d; done

GROWTHFEW ?= 10000
GROWTHRUNS ?= 1000000
GROWTHDATA ?= $(or $(TMPDIR),/tmp)/orch-bench-growth

.PHONY: bench-growth
bench-growth: build ## measure the requests of clients with GROWTHRUNS runs beside GROWTHFEW, on the single binary; GROWTHDATA keeps the stores
	cd services/orchestration && for n in $(GROWTHFEW) $(GROWTHRUNS); do go run ./bench/scale -growth -fill $(GROWTHDATA)/$$n/store -many $$n || exit 1; done
	go run ./test/bench/growth -dir $(GROWTHDATA) -few $(GROWTHFEW) -many $(GROWTHRUNS) $(BENCHFLAGS)

.PHONY: bench-growth-mongo
bench-growth-mongo: build ## the same with three services on a MongoDB server, a new one unless ORCH_TEST_MONGODB_URI names one
	go run ./test/withmongod $(MAKE) bench-growth-on

.PHONY: bench-growth-on
bench-growth-on:
	cd services/orchestration && for n in $(GROWTHFEW) $(GROWTHRUNS); do go run ./bench/scale -growth -uri "$$ORCH_TEST_MONGODB_URI" -fill growth_$$n -many $$n || exit 1; done
	go run ./test/bench/growth -mongodb "$$ORCH_TEST_MONGODB_URI" -few $(GROWTHFEW) -many $(GROWTHRUNS) $(BENCHFLAGS)

.PHONY: bench-api-mongo
bench-api-mongo: build $(VENV)/prefect ## measure three services on a MongoDB server beside the Python server on Postgres; BENCHFLAGS as for bench-api
	go run ./test/withmongod $(MAKE) bench-api-on

.PHONY: bench-api-on
bench-api-on:
	go run ./test/bench/api -mongodb "$$ORCH_TEST_MONGODB_URI" -prefect $(VENV)/prefect/bin/prefect $(BENCHFLAGS)

.PHONY: bench-writes
bench-writes: build ## count the keys and the bytes of log that requests write, in the single binary and on a MongoDB server
	go run ./test/bench/writes $(BENCHFLAGS)
	go run ./test/withmongod sh -c 'go run ./test/bench/writes -mongodb "$$ORCH_TEST_MONGODB_URI" $(BENCHFLAGS)'

.PHONY: bench-tenants
bench-tenants: ## measure a workspace beside another that asks the worst queries for a minute; SCALE=100000 for less, SCALEDATA keeps the store
	cd services/orchestration && go run ./bench/scale -dir $(SCALEDATA) -many $(SCALE) -tenants 60s $(BENCHFLAGS)

WEBRUNS ?= 1000000
WEBDATA ?= $(or $(TMPDIR),/tmp)/orch-bench-web-$(WEBRUNS)

.PHONY: bench-web
bench-web: build ## measure the pages of the dashboard against their budgets, with a million runs; WEBRUNS=20000 BENCHFLAGS="-round 2s" for less
	cd services/orchestration && go run ./bench/scale -fill $(WEBDATA)/store -many $(WEBRUNS)
	go run ./test/bench/web -dir $(WEBDATA) $(BENCHFLAGS)

RETENTIONRUNS ?= 1200000
RETENTIONKEEP ?= 200000
RETENTIONDATA ?= $(or $(TMPDIR),/tmp)/orch-bench-retention

.PHONY: bench-retention
bench-retention: build ## measure clients beside the deletion of a million runs, and the space afterwards; RETENTIONRUNS=240000 RETENTIONKEEP=140000 for less
	rm -rf $(RETENTIONDATA)
	cd services/orchestration && go run ./bench/scale -fill $(RETENTIONDATA)/store -many $(RETENTIONRUNS)
	go run ./test/bench/retention -dir $(RETENTIONDATA) -keep $(RETENTIONKEEP) $(BENCHFLAGS)
	rm -rf $(RETENTIONDATA)

.PHONY: bench-scheduler
bench-scheduler: ## measure passes of the scheduler over 10,000 deployments
	cd services/orchestration && go test -run='^$$' -bench='^BenchmarkPass$$' -benchtime=1x $(TESTFLAGS) ./internal/schedules

.PHONY: bench-store
bench-store: ## measure the embedded store beside raw Pebble, with a million documents
	cd pkg && go run ./embeddedmongo/bench $(BENCHFLAGS)

.PHONY: bench-stream
bench-stream: build ## measure the websockets beside a bare websocket server
	go run ./test/bench/stream -orch bin/orch $(BENCHFLAGS)

.PHONY: test-jinja
test-jinja: ## render the conformance cases of the template engine, and the hostile ones, and print how many agree
	cd pkg && go test -count=1 -v -run='Conformance|Hostile' ./jinja

.PHONY: test-mongodb-vectors
test-mongodb-vectors: ## compare the embedded store with recorded replies of MongoDB, and print how many are alike
	cd pkg && go test -count=1 -v -run='^TestVectors$$' ./embeddedmongo

.PHONY: test-plans
test-plans: ## compare plans of the embedded store with scans, on random documents, indexes, filters and changes; CHECKS=20000
	cd pkg && go test -count=1 -v -timeout=60m -run='^TestPlansAgreeWithScans$$' ./embeddedmongo -rapid.checks=$(or $(CHECKS),20000)

MONGODB_URI ?= $(ORCH_TEST_MONGODB_URI)

.PHONY: e2e-mongo
e2e-mongo: ## run the tests of both stores against MONGODB_URI, a replica set of MongoDB 6.0 or later; without it against the embedded store
	@ORCH_TEST_MONGODB_URI='$(MONGODB_URI)' tools/test-stores $(TESTFLAGS)

.PHONY: test-mongo
test-mongo: ## start a MongoDB server for the short form of e2e-mongo: mongod of ORCH_TEST_MONGOD or of PATH; it is skipped if there is none
	go run ./test/withmongod $(MAKE) e2e-mongo TESTFLAGS='-short $(TESTFLAGS)'

.PHONY: test-oracle
test-oracle: $(VENV)/oracle ## compare the embedded store with SecantusDB on random documents, filters, sorts and updates
	cd pkg && ORCH_TEST_SECANTUSD=$(VENV)/oracle/bin/secantusd-py go test -count=1 -v -run='^TestOracle' ./embeddedmongo

# The programs that checks compare with, one environment a list. Python 3 makes them; nothing else needs it.
$(VENV)/%: test/python/%.txt
	@command -v python3 > /dev/null || { echo 'python3 is missing: these checks run beside Python programs'; exit 1; }
	python3 -m venv $@
	$@/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

.PHONY: lint
lint: $(BIN)/golangci-lint ## run the linters over all modules; .golangci.yml explains them
	@status=0; for dir in $(MODULES); do \
		echo "lint $${dir#$(CURDIR)/}"; (cd "$$dir" && golangci-lint run $(LINTFLAGS) ./...) || status=1; \
	done; exit $$status

.PHONY: verify
verify: gen $(BIN)/govulncheck ## regenerate and compare; check go.mod files, go lines, licences, known vulnerabilities, and that each module builds alone
	tools/verify
	tools/licences
	tools/vulnerabilities

## Generate

# The order matters: descriptors, then what is generated from them, then what is generated from that.
.PHONY: gen
gen: proto ## generate everything that is generated and committed
	cd pkg && go run -tags restjson_reflective ./restjson/cmd/restjsongen
	cd pkg && go test ./openapi -run='^Test(Document|Core)IsTheGoldenFile$$' -count=1 -update
	cd test && go generate ./client
	cd test && go test ./documents -run='^Test(Configuration|SettingNames|AutomationReference)(Is|Are)Current$$' -count=1 -update
	cd services/orchestration && go test ./internal/query -run='^TestEveryIndexIsUsed$$' -count=1 -update

.PHONY: collections
collections: $(VENV)/prefect-3.9 ## write the types of blocks and workers of a new server of the reference, from the packages that it and tools/collections pin
	$(VENV)/prefect-3.9/bin/python tools/collections/write.py

.PHONY: proto
proto: $(BIN)/buf $(BIN)/protoc-gen-go ## generate Go code from the proto files
	cd proto && buf lint && buf generate

.PHONY: breaking
breaking: $(BIN)/buf ## compare the proto files with AGAINST (main): what is stored must stay readable
	cd proto && buf breaking --against '../.git#branch=$(or $(AGAINST),main),subdir=proto'

## Tools

$(BIN)/buf: tools/buf/go.mod
	cd tools/buf && GOWORK=off go build -o $@ github.com/bufbuild/buf/cmd/buf

$(BIN)/protoc-gen-go: tools/protoc/go.mod
	cd tools/protoc && GOWORK=off go build -o $(BIN)/ tool

$(BIN)/govulncheck: tools/vuln/go.mod
	cd tools/vuln && GOWORK=off go build -o $@ golang.org/x/vuln/cmd/govulncheck

$(BIN)/nfpm $(BIN)/cyclonedx-gomod: tools/package/go.mod
	cd tools/package && GOWORK=off go build -o $(BIN)/ tool

$(BIN)/ociimage: tools/package/go.mod $(wildcard tools/package/ociimage/*.go)
	cd tools/package && GOWORK=off go build -o $(BIN)/ ./ociimage

$(BIN)/golangci-lint: tools/lint/go.mod
	cd tools/lint && GOWORK=off go build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
