.DEFAULT_GOAL := help
.PHONY: help run build lint test verify bench faults incidents clients fuzz attack matrix tenants timing plans holds seeds streams properties churn whole chart image imagecheck rollout patroni upgrade backup capacity conformance everything clean

help: ## what there is
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

run: node_modules ## build what changed and serve: http://127.0.0.1:8090
	npm start

build: node_modules ## compile into dist
	npm run build

lint: node_modules ## static checks of the code
	npm run lint

test: node_modules ## all tests, on a PostgreSQL of their own
	npm test

verify: node_modules ## types, lint, who imports what, lock file, and the documentation, executed
	npm run verify

bench: build ## ratios against bare servers and plain SQL, one run (ARGS='--quick', '--only=get', '--large=1000000')
	node --import tsx bench/main.ts $(ARGS)

faults: build ## break everything under load and hold the histories to the log (ARGS='--seed=7', '--hours=1', '--list')
	node --import tsx test/system/faults/main.ts $(ARGS)

incidents: build ## the incidents of the runbook, each provoked, found by its alert, and ended by its page (ARGS='--only=SvcDown', '--list')
	node --import tsx test/system/incidents/main.ts $(ARGS)

clients: build ## helm, kubectl, Python, Go and TypeScript programs against svc (ARGS='--only=helm', '--peer=FOLDER')
	node hack/helm/fetch.mjs
	node --import tsx test/system/clients/main.ts $(ARGS)

fuzz: build ## hostile requests by the hundred thousand, to both services (ARGS='--seconds=600', '--seed=7', '--service=access')
	node --import tsx test/system/fuzz/main.ts $(ARGS)

attack: build ## attackers of every kind, directly and behind haproxy, and a user who must not notice (ARGS='--seconds=600', '--only=slow', '--sample')
	node --import tsx test/system/attack/main.ts $(ARGS)

matrix: build ## who may do what: everybody, with every credential, on every route, against the contract (ARGS='--cells=100000', '--seed=7')
	node --import tsx test/system/matrix/main.ts $(ARGS)

tenants: build ## one tenant attacks an API server, floods it, exceeds its quota and throttle; another works on (ARGS='--parts=floods')
	node --import tsx test/system/tenants/main.ts $(ARGS)

timing: build ## do times tell why a login or a signature was refused? (ARGS='--logins=1000')
	node --import tsx test/system/timing/main.ts $(ARGS)

holds: build ## how long the worst inputs hold the event loop
	node --import tsx test/system/holds/main.ts $(ARGS)

seeds: node_modules ## the sample plugin's controllers under faults, run by run (ARGS='--runs=10000', '--seed=7')
	node --conditions=source --import tsx test/system/seeds/main.ts $(ARGS)

streams: node_modules ## live lists under faults of network, servers and pages, seed by seed (ARGS='--seeds=10000 --seed=7', '--browser=50')
	node --max-semi-space-size=64 --conditions=source --import tsx test/system/streams/main.ts $(ARGS)

plans: node_modules ## the plan of every form of list, at 100 000 objects
	SVC_TEST_WHOLE=1 SVC_TEST_PLAN_OBJECTS=100000 npm test -- pkg/storage/postgres/list/list-plans

properties: node_modules ## npm test with all values of property tests, and others each time (SVC_TEST_SEED=7 repeats)
	SVC_TEST_VALUES=all SVC_TEST_SEED=$${SVC_TEST_SEED:-$$(date +%s)} npm test

churn: build ## start and stop plugins, with their pages open in a browser too, and hosts with controllers: what stays behind? (ARGS='--rounds=100 --changes=5', '--only=pages')
	node --import tsx test/system/churn/main.ts $(ARGS)

whole: build ## tests that npm test has no time for: whole programs, killed and separate
	SVC_TEST_WHOLE=1 npm test -- '\.whole\.test'

chart: node_modules ## the Helm chart: linted, rendered for a matrix of values, validated
	node hack/helm/fetch.mjs
	SVC_TEST_WHOLE=1 npm test -- test/system/chart

image: ## build the container image with docker, podman or buildah
	node --import tsx hack/image/build.ts $(ARGS)

imagecheck: node_modules ## build the image twice by buildah, look through it, and run it (root on Debian)
	node --conditions=source --import tsx test/system/image/check.ts

rollout: build ## the chart's pods as processes behind haproxy, on PostgreSQL with a standby: upgraded, killed, failed over under load (ARGS='--quick')
	node hack/helm/fetch.mjs
	node --import tsx test/system/rollout/main.ts $(ARGS)

patroni: build ## PostgreSQL of Debian under Patroni and etcd: switchovers, kills, lost etcd members, two regions, under load (ARGS='--quick', '--seed=7', '--only=regions')
	node --import tsx test/system/patroni/main.ts $(ARGS)

upgrade: build ## databases of all earlier versions, and the last one beside this one (ARGS='--quick')
	node --import tsx test/system/upgrade/main.ts $(ARGS)

backup: build ## a backup and a restore of a million objects, beside pg_dump (ARGS='--objects=100000')
	node --conditions=source --import tsx test/system/backup/main.ts $(ARGS)

capacity: build ## bytes, write-ahead log, processor time and memory for each object and request (ARGS='--quick')
	node --import tsx bench/capacity/main.ts $(ARGS)

conformance: node_modules ## the same requests to a real Kubernetes API server and to our managed fields (ARGS='--peer=FOLDER --seed=7 --models=100')
	node --conditions=source --import tsx test/system/conformance/main.ts $(ARGS)

everything: build ## every suite whole, with a table at the end: for hours, before a release (ARGS='--only=fuzz,matrix', '--sample')
	node hack/helm/fetch.mjs
	node hack/run-suites.mjs $(ARGS)

clean: ## remove what was built (never data)
	rm -rf dist coverage

node_modules: package-lock.json
	npm ci
	@touch node_modules
