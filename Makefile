# Every target's node is the pinned one of node_modules, whatever the machine has.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
.DEFAULT_GOAL := help
.PHONY: help install run run-git down dev check test fuzz test-kube test-agent test-matrix test-protocols test-ag-ui test-python test-classes test-differential test-twins test-builder test-shapes test-dockerfiles test-projects test-browser test-console test-package package-python test-package-python test-charts test-system test-kind test-builds test-scale test-rollouts test-runbooks test-restore test-upgrade test-oldest test-cnpg test-air-gapped test-packets test-crash test-faults test-routes test-abuse test-company test-company-pods bench bench-control-plane bench-operator bench-backup bench-patches bench-scrape bench-console release test-release counts generate prices golden pin-bases console-page fmt clean

help: ## print this list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-20s %s\n", $$1, $$2}' Makefile

install: ## dependencies, with the right Node among them
	@node dev/install.mjs

##@ Use it

run: install ## a cluster, the platform on it, and an example agent that answers; safe to repeat
	@node dev/run/main.ts

run-git: install ## make run, with a git host and a registry: deployments that are built from a repository
	@node dev/run/main.ts --git

down: install ## remove everything that `make run` made
	@node dev/run/down.ts

dev: install dist/studio/index.html ## the example agent alone: no cluster, embedded Postgres, reload on change
	@npm run --silent dev -- --config examples/echo/gx.json

# A clone has no page of the studio, and one that was pulled may have an older one.
dist/studio/index.html: $(wildcard src/console/page/*.* src/console/page/*/*.* src/console/page/*/*/*.* dev/console/*.ts) | install
	@node dev/console/build.ts > /dev/null

##@ Prove it

check: install ## the quick part: format, lint, types, unused code, generated files, unit and golden tests
	@node dev/test/main.ts check

test: install ## everything: `check`, a real API server, a real Postgres, and real pods
	@node dev/test/main.ts check agent kube console builder charts system

test-kube: install ## control plane and operator on a real API server
	@node dev/test/main.ts kube

test-agent: install ## the agent server on a real Postgres
	@node dev/test/main.ts agent

test-matrix: install ## users' graphs with other versions of LangGraph, zod and Node in `dev`, and other versions of clients (needs python3)
	@node test/matrix/main.ts

test-protocols: install ## MCP's suite for servers in both eras, and the Python clients of MCP and A2A against an agent server (needs python3; 3 minutes)
	@node test/protocols/main.ts

test-ag-ui: install ## AG-UI by the clients that pages have, in random conversations: five versions of HttpAgent, CopilotKit's runtime, Python and Go (needs python3 and go; SEEDS=100 conversations for each version: 10 minutes; EXAMPLES=folder: also the LangGraph examples of AG-UI's repository, 5 minutes)
	@SEEDS=$(if $(SEEDS),$(SEEDS),100) node test/protocols/ag-ui/main.ts
	@$(if $(EXAMPLES),node test/protocols/ag-ui/examples.ts $(EXAMPLES),:)

test-python: install ## Python graphs in the runner of python/, first tests over Python twins, and test-differential, with ruff, mypy, and LangGraph's packages checked by hash (needs python3; LANGGRAPH=1.0 or 1.1: all that those have, 0.4 to 0.6: classes in states)
	@node test/python/main.ts $(if $(LANGGRAPH),--langgraph $(LANGGRAPH))

test-classes: install ## test-python and test-twins once more, with values of classes in the state of each of their graphs, which each of its steps looks at (needs python3)
	@node test/python/main.ts --classes

test-differential: install ## the same requests to this server and to PyPI langgraph-api, both with graphs in Python, whose answers may differ only as a list says (needs python3)
	@node test/python/differential/main.ts

test-twins: install ## the agent server's tests over Python twins of their graphs (needs python3)
	@node dev/test/main.ts twins

test-builder: install ## the stages of a build from git, with a real registry and a real git host
	@node dev/test/main.ts builder

test-shapes: install ## repositories from the clone to an agent that answers: npm, pnpm, both yarns, bun, TypeScript, native code, plain JavaScript; in Python uv, requirements, several packages, both languages, six templates, managed deep agents (10 minutes)
	@node dev/test/main.ts shapes

test-dockerfiles: install ## Dockerfiles that langgraph-cli writes for projects in Python, built on our image, up to an agent that answers (Debian, root, python3; 10 minutes)
	@node dev/test/main.ts dockerfiles

test-projects: install ## a shelf of projects of the kinds that public repositories have, unchanged by gx dev and by a build from git, in both languages (needs python3; 15 minutes)
	@node dev/test/main.ts projects

test-browser: install ## a page with the vendor's React hooks, and the chat page of dev, in a real Chromium, which root on Debian gets installed (3 minutes)
	@node dev/test/main.ts browser

test-console: install ## the page of the console in a real Chromium, on a real API server with 10,000 deployments: screens, keys, accessibility, times (10 minutes, on a quiet machine; DEPLOYMENTS=2000: 4)
	@CONSOLE_DEPLOYMENTS=$(if $(DEPLOYMENTS),$(DEPLOYMENTS),10000) node dev/test/main.ts console

test-package: install ## the package for developers: npm pack, gx new and gx dev in an empty project, on two versions of Node (3 minutes)
	@node test/package/main.ts

test-package-python: install ## the wheel: twice the same bytes, pip install, gx new --python and gx dev in an empty environment (needs python3; 3 minutes)
	@node test/package/wheel.ts

test-charts: install ## the Helm chart and the kustomize tree render the same
	@node dev/test/main.ts charts

test-system: install ## the whole chain in real pods, on a cluster of its own
	@node dev/test/main.ts system

test-builds: install ## builds from git in real pods: hostile ones, warm ones, the way back, turns, and pods under ids that the cluster gives (17 minutes, on a quiet machine)
	@node dev/test/main.ts builds

test-kind: install ## make run, the quick start and the system tests on kind, with a Docker of its own and a node of packages (Debian, root; 20 minutes)
	@node dev/cluster/kind-node/main.ts

test-scale: install ## five hundred runs over four queue pods, wakes by the clock, and api pods under load with a real metrics server, in real pods (25 minutes)
	@node dev/test/main.ts scale

test-rollouts: install ## new revisions that fail, are slow, never end or leak are given up, and twenty equal ones serve, in real pods; then everything is killed at each step of two more (45 minutes)
	@node dev/test/main.ts rollouts

test-runbooks: install ## faults in real pods, each found by its alert and cured by the commands of its page, then a quiet cluster that fires nothing for QUIET_MINUTES=30 (Linux, root)
	@node dev/test/main.ts runbooks

test-restore: install ## a database whose volume is lost comes back from a real S3 server over TLS or from a volume claim, in real pods, ten times to the last minute by method continuous; the page with the drill is typed (45 minutes; GX_TEST_KILLS=2: 30)
	@node dev/test/main.ts restore

test-upgrade: install ## the first release in real pods, upgraded to today's under load by the page's commands, and back by helm rollback, each time while a push is built (13 minutes; the first time 18)
	@node dev/test/main.ts upgrade

test-oldest: install ## the chart, the definitions and the operator on the API server of the oldest Kubernetes that the chart asks for (5 minutes; the first time 15)
	@node test/oldest/main.ts

test-cnpg: install ## the page on CloudNativePG, typed on kind with its operator from the network (CNPG_VERSION=1.30.0; needs Docker and a way out to GitHub; 15 minutes)
	@CNPG_VERSION=$(if $(CNPG_VERSION),$(CNPG_VERSION),1.30.0) node test/cnpg/main.ts

test-air-gapped: install ## a release mirrored into a registry, and installed from it in a cluster that reaches nothing else: an agent runs, and one is built (Linux, root; 10 minutes)
	@node dev/test/main.ts air-gapped

test-packets: install ## the network policies of the native cluster, by real packets between network namespaces (Linux, root)
	@node dev/test/main.ts packets

test-crash: install ## the agent server under kill -9 of workers, of the process that answers, and of Postgres, readers behind a bad network, runs of thirty leases, runners of graphs in Python, locks of dead workers, and a database that takes no writes (needs python3); 15 minutes on a quiet machine, 22 on a busy one
	@node dev/test/main.ts crash

test-faults: install ## the operator under kill -9, broken watches, refused requests and two leaders, on a real API server
	@node dev/test/main.ts faults

test-routes: install ## routes read by Contour and Envoy Gateway, and streams, WebSockets and large bodies through their Envoy; and one trace of gateway, agent and tool in a real OpenTelemetry collector (needs python3; Envoy Gateway needs root; 4 minutes)
	@node dev/test/main.ts routes

test-company: install ## a company's network and cluster: Jobs that a quota or a policy refuses and beside a mesh's containers, the page for owners of one namespace and two installations, on a real API server; a proxy that refuses everybody else, and a private authority (8 minutes)
	@node dev/test/main.ts company

test-company-pods: install ## each kind of Job in real pods: under a quota that refuses them, and beside a mesh's containers that never end (20 minutes)
	@node dev/test/main.ts company-pods

test-abuse: install ## control plane, agent server, gateway and the operator's reader of reports attacked as one tenant while another one asks: bodies, streams, slow senders, forged keys, reports, issuers; measures time and memory (10 minutes, on a quiet machine; random reports for ten minutes: node test/abuse/main.ts reports=600)
	@node test/abuse/main.ts

fuzz: install ## 10,000 generated requests each against the REST API and the agent server, by one who knows the ids of two neighbours: none of theirs is shown, logged or changed (20 minutes; needs python3)
	@node test/fuzz/main.ts

# Benchmarks run programs as Go compiles them by default.
bench bench-control-plane bench-operator bench-backup bench-patches bench-scrape bench-console: export GX_OPTIMIZED_PARTS := 1

bench: install ## the agent server beside others that speak its interface (12 minutes; --help by node test/bench/agent/main.ts)
	@node test/bench/agent/main.ts

bench-control-plane: install ## latencies of the REST API on a real API server, with 2,000 deployments (FULL=1: 10,000)
	@node test/bench/control-plane.ts $(if $(FULL),--full)

bench-operator: install ## the operator at scale: new deployments, 10,000 settled ones, a world at rest (10 minutes; --help by node test/bench/operator.ts)
	@node test/bench/operator.ts

bench-backup: install ## a backup, a restore and a clone of 1 GB in real pods, and the runs meanwhile (25 minutes, 12 GB; --help by node test/bench/backup.ts)
	@node test/bench/backup.ts

bench-patches: install ## this checkout beside its last commit without the two patches in the thread of graphs, at 50 clients (8 minutes; ARGS=--quick)
	@node test/bench/patches.ts $(ARGS)

bench-scrape: install ## a scrape of the operator's metrics with 10,000 deployments (half a minute)
	@node test/bench/scrape.ts

bench-console: install ## 500 chats through a process of the console beside direct reads of them, and a token from the agent to the pixel (3 minutes)
	@node test/bench/console.ts
	@node dev/test/main.ts tokens

##@ Release it

release: install ## dist/<version>: images, chart, install.yaml, npm package, bills of materials, checksums (VERSION=0.1.0; KEY=cosign.key; WITHOUT=gx-buildkit)
	@node dev/release/main.ts $(if $(VERSION),--version $(VERSION)) $(if $(KEY),--key $(KEY)) $(foreach image,$(WITHOUT),--without $(image))

test-release: install ## the release that CHANGELOG.md names, made twice, compared byte by byte, signed and verified offline (WITHOUT=gx-buildkit; needs a builder of images)
	@node test/release/main.ts $(foreach image,$(WITHOUT),--without $(image))

##@ Change it

counts: install ## counts how the source reads: names, types, helpers and imports, beside three code bases that read well (ARGS=names lists the functions that begin with no verb, ARGS=walks how many files a reader of ten calls opens)
	@node dev/counts/main.ts $(ARGS)

generate: install ## write the files that come from src/schema and the access rules
	@node dev/generate.ts

golden: install ## rewrite the golden files, those of kubectl's answers on a real API server; the diff is the review
	@vitest run --project unit --update
	@vitest run --project kube test/operator/kubectl-answers.test.ts --update

prices: install ## the table of model prices from the newest genai-prices of npm, and recorded prices that its test compares
	@node dev/prices/main.ts

console-page: install ## build the page of the console into dist/console, where the console process finds it
	@node dev/console/build.ts

pin-bases: install ## write the digests of the base images into the Dockerfile, as their registries answer today
	@node dev/images/pin-bases/main.ts

package-python: install ## the wheel for developers in Python, with Node and the server in it, for Linux on x86_64 (.run/package)
	@node dev/package/wheel/main.ts

fmt: install ## format all sources
	@oxfmt

clean: ## remove dependencies and local state (the caches stay)
	@rm -rf node_modules .run coverage
