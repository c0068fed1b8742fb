# Every target makes .venv and installs what it needs into it; a second call skips that. Only test-setup installs
# anything outside of this folder.
#
#   make demo    the whole job on the built-in data, with a report; make demo DEMO='--viewer noor-r'
#   make serve   the service and the explorer, on the built-in data; make serve SERVE='--port 9000'
#   make test    all tests and the examples in docstrings; without the slow ones: .venv/bin/pytest
#   make test-setup   as root, Debian's Chromium and nginx; without them the tests that need them are skipped
#   make test-machines   the numeric tests as on other processors; make test-machines MACHINES='Haswell Prescott'
#   make test-lowest, make test-newest   the same on the lowest and the newest versions of the dependencies
#   make lint    ruff, mypy, Biome and tsc where npm is, and known holes in dependencies where a service knows them
#   make fuzz    coverage-guided fuzzing of every reader; make fuzz MINUTES=10
#   make soak    a million random problems against POT; make soak SOAK='--minutes 5 --seed 1'
#   make kills   400 kills at random moments, and what is there afterwards
#   make bench   speed and memory, as ratios against other software in one run; make bench BENCH=--write
#   make results PAGE=ranking/ml-100k   the runs of docs/results/PAGE from nothing, in RUNS (runs/ by default)
#   make figures the figures of README and docs/, from the records and the output of the benchmarks
#   make dist    the source distribution and the wheel, in dist/, as an index wants them
#   make coverage  the quick tests, and the share of lines that they run
#   make nightly   the speed next to POT on made-up data, as one more line of SERIES (series.jsonl by default)
#   make docs    HTML pages in docs/_build/html
#   make pictures  the examples, whose pictures go to docs/pictures, and what the notebook's cells show
#
# PYTHON names the interpreter that makes .venv, JOBS the number of test processes. Each of them computes on one
# thread of OpenBLAS: with two on busy cores, a fit can take several times as long.

PYTHON ?= python3
JOBS ?= 2
MINUTES ?= 2
RUNS ?= runs
SERIES ?= series.jsonl
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: demo serve test test-setup test-lowest test-newest lint fuzz soak kills bench results figures dist docs coverage nightly
.PHONY: pictures clean test-machines
.DELETE_ON_ERROR:

demo: $(VENV)/.installed-demo
	$(BIN)/prefmover demo $(DEMO)

serve: $(VENV)/.installed-server
	$(BIN)/prefmover serve --dataset cinema $(SERVE)

test: $(VENV)/.installed-test $(VENV)/clients/.installed
	@$(BIN)/python tools/programs.py
	@if ! test -f package.json; then echo "no explorer's tests here: they are in a clone"; \
	elif command -v npm >/dev/null; then $(MAKE) --no-print-directory node_modules/.installed && npm test --silent; \
	else echo "no npm here: axe does not look at the pages, and pure modules are tested in Chromium only"; fi
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -m "" -n $(JOBS) --dist worksteal

test-setup:
	@command -v chromium >/dev/null && command -v nginx >/dev/null || { apt-get update -q && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends chromium nginx-light; }

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	@$(BIN)/python tools/audit.py
	@if ! command -v npm >/dev/null; then echo "skipped: the explorer's JavaScript and CSS are checked where npm is"; \
	else $(MAKE) --no-print-directory node_modules/.installed && mkdir -p node_modules/.prefmover && \
	$(BIN)/python -m tools.openapi > node_modules/.prefmover/openapi.json && npm run --silent lint; fi

test-machines: $(VENV)/.installed-test
	$(BIN)/python -m tools.machines test $(MACHINES) --jobs $(JOBS)

test-lowest test-newest:
	$(PYTHON) tools/compatibility.py $(@:test-%=%) $(TESTS)

fuzz: $(VENV)/.installed-fuzz
	@for file in fuzz/fuzz_*.py; do echo "== $$file"; $(BIN)/python $$file --minutes $(MINUTES) || exit 1; done

soak: $(VENV)/.installed-test
	$(BIN)/python -m tools.soak $(SOAK)

kills: $(VENV)/.installed-test
	$(BIN)/python -m tools.kills $(KILLS)

bench: $(VENV)/.installed-test
	@for file in benchmarks/bench_*.py; do echo "== $$file"; $(BIN)/python $$file $(BENCH) || exit 1; done

results: $(VENV)/.installed-peers
	@test -n "$(PAGE)" -a -d "docs/results/$(PAGE)" || { echo "which runs? make results PAGE=ranking/ml-100k"; exit 2; }
	@cd docs/results && find "$(PAGE)" -name experiment.json | sort | while read file; do echo "== $${file%/*}"; \
	  ../../$(BIN)/prefmover evaluate --config "$$file" --no-report \
	  --out "$(abspath $(RUNS))/$${file%/*}" || exit 1; done

figures: $(VENV)/.installed-test
	$(BIN)/python -m tools.figures

dist: $(VENV)/.installed-dist
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*
	@ls -l dist

coverage: $(VENV)/.installed-test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --cov

nightly: $(VENV)/.installed-test
	$(BIN)/python benchmarks/nightly.py $(SERIES)

docs: $(VENV)/.installed-docs
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

pictures: $(VENV)/.installed-docs
	$(BIN)/python -m tools.notebook
	@for file in examples/plot_*.py; do MPLBACKEND=agg $(BIN)/python $$file --out docs/pictures || exit 1; done

# One stamp per extra, renewed when the pins or the metadata change.
$(VENV)/.installed-demo: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[plot]'
	@touch $@

$(VENV)/.installed-%: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[$*]'
	@touch $@

# A generator of clients for the service, apart: it needs an older Typer.
$(VENV)/clients/.installed: Makefile | $(BIN)/python
	$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check install --quiet openapi-python-client==0.29.1 && \
	  touch $@ || echo "skipped: the tests of a generated client need openapi-python-client"

node_modules/.installed: package.json package-lock.json
	npm ci --silent --no-audit --no-fund
	@touch $@

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) node_modules docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
